package checksum

import "testing"

// What rsync 3.5.0 sends, seen on the wire.
func TestList(t *testing.T) {
	for _, c := range []struct {
		custom string
		server bool
		want   string
	}{
		{"", false, "xxh128 xxh3 xxh64 md5 md4 sha1"},
		{"", true, "xxh128 xxh3 xxh64 md5 md4 sha1 none"},
		{"   ", false, "xxh128 xxh3 xxh64 md5 md4 sha1"},
		{"MD5 xxhash foo md5 none XXH64 & md4 bar", false, "MD5 xxh64 none"},
		{"MD5 xxhash foo md5 none XXH64 & md4 bar", true, "md4"},
		{"none auto md5", false, "none md5"},
		{"foo bar", true, "INVALID"},
		{"auto", false, "INVALID"},
		{" & md5", false, "xxh128 xxh3 xxh64 md5 md4 sha1"},
		{" & md5", true, "md5"},
		{"md5 & ", true, "xxh128 xxh3 xxh64 md5 md4 sha1 none"},
		{"md5\tsha1,md4", false, "md5"},
	} {
		if got := List(c.custom, c.server); got != c.want {
			t.Errorf("List(%q, %v) = %q, want %q", c.custom, c.server, got, c.want)
		}
	}
}

func TestChoose(t *testing.T) {
	for _, c := range []struct {
		order, offered string
		want           Algorithm
		ok             bool
	}{
		{List("", false), List("", true), XXH128, true},
		{"md5 xxh128", List("", true), MD5, true},
		{"blake3 XXHash", "xxh64", XXH64, true},
		{"none", List("", true), None, true},
		{"none", List("", false), Auto, false},
		{"auto", "auto", Auto, false},
		{"INVALID", "INVALID", Auto, false},
		{"", List("", true), Auto, false},
		{"md5", "", Auto, false},
	} {
		got, ok := Choose(c.order, c.offered)
		if got != c.want || ok != c.ok {
			t.Errorf("Choose(%q, %q) = %v, %v, want %v, %v", c.order, c.offered, got, ok, c.want, c.ok)
		}
	}
	if Offers("md5 sha1", XXH3) || !Offers("md5 SHA1", SHA1) {
		t.Error("Offers does not tell what a list holds")
	}
}

func TestParseChoice(t *testing.T) {
	for _, c := range []struct {
		value          string
		transfer, list Algorithm
		err            string
	}{
		{"auto", Auto, Auto, ""},
		{"MD5", MD5, MD5, ""},
		{"xxhash,auto", XXH64, Auto, ""},
		{"none,sha1", None, SHA1, ""},
		{"", Auto, Auto, "unknown checksum name: "},
		{"md5,", Auto, Auto, "unknown checksum name: "},
		{",md5", Auto, Auto, "unknown checksum name: ,md5"},
		{"foo,md5", Auto, Auto, "unknown checksum name: foo"},
		{"md5,md4,sha1", Auto, Auto, "unknown checksum name: md4,sha1"},
	} {
		transfer, list, err := ParseChoice(c.value)
		text := ""
		if err != nil {
			text = err.Error()
		}
		if transfer != c.transfer || list != c.list || text != c.err {
			t.Errorf("ParseChoice(%q) = %v, %v, %q", c.value, transfer, list, text)
		}
	}
}
