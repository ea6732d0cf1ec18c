package checksum

import (
	"fmt"
	"slices"
	"strings"
)

// preferred is the order in which rsync 3.5.0 offers algorithms.
const preferred = "xxh128 xxh3 xxh64 md5 md4 sha1"

// invalid is what a side sends whose list has no name it knows: a peer finds
// nothing in it, and both end with exit code 4.
const invalid = "INVALID"

// List is what one side offers in a handshake, names separated by spaces, best
// first. Custom is the user's own list (RSYNC_CHECKSUM_LIST), empty for the
// default; an & in it parts that of the client from that of the server. Names
// nobody knows and repetitions go, aliases become the main name. A server's
// default list ends with none.
func List(custom string, server bool) string {
	if client, own, parted := strings.Cut(custom, "&"); parted {
		custom = client
		if server {
			custom = own
		}
	}
	if strings.TrimSpace(custom) == "" {
		if server {
			return preferred + " none"
		}
		return preferred
	}
	var list []string
	var seen []Algorithm
	for _, name := range strings.Fields(custom) {
		a, known := ByName(name)
		if !known || a == Auto || slices.Contains(seen, a) {
			continue
		}
		seen = append(seen, a)
		if strings.EqualFold(name, a.String()) {
			list = append(list, name)
		} else {
			list = append(list, a.String())
		}
	}
	if len(list) == 0 {
		return invalid
	}
	return strings.Join(list, " ")
}

// Choose is the first name of order that we know and that offered has too. A
// client gives its own list as the order and then offers the chosen name alone;
// a server takes the client's list as the order. So every peer agrees, whichever
// of the two orders it goes by.
func Choose(order, offered string) (Algorithm, bool) {
	has := map[Algorithm]bool{}
	for _, name := range strings.Fields(offered) {
		if a, known := ByName(name); known && a != Auto {
			has[a] = true
		}
	}
	for _, name := range strings.Fields(order) {
		if a, known := ByName(name); known && has[a] {
			return a, true
		}
	}
	return Auto, false
}

// Offers reports whether a list from [List] has an algorithm. A choice by name,
// or what the protocol implies, that is missing from the user's own list ends
// the session with exit code 4.
func Offers(list string, a Algorithm) bool {
	_, ok := Choose(a.String(), list)
	return ok
}

// ParseChoice reads the value of --checksum-choice: a name for the sums of
// transfers and of --checksum alike, or one for each, parted by a comma. The
// error's text is rsync's; it means exit code 4.
func ParseChoice(value string) (transfer, list Algorithm, err error) {
	first, second, two := strings.Cut(value, ",")
	if first == "" { // rsync takes a comma at the front as part of a name
		return Auto, Auto, fmt.Errorf("unknown checksum name: %s", value)
	}
	transfer, known := ByName(first)
	if !known {
		return Auto, Auto, fmt.Errorf("unknown checksum name: %s", first)
	}
	if !two {
		return transfer, transfer, nil
	}
	list, known = ByName(second)
	if !known {
		return Auto, Auto, fmt.Errorf("unknown checksum name: %s", second)
	}
	return transfer, list, nil
}
