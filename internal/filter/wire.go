package filter

import (
	"errors"
	"strings"
)

// ErrTooModern is wrapped by errors about rules that an old protocol has no words for.
var ErrTooModern = errors.New("filter rules are too modern for the other side")

// The protocols that brought the rule syntax and the modifier p.
const (
	protoRules      = 29
	protoPerishable = 30
)

// Wire gives the texts of the rules that a client sends to its server, in
// order. The client is the given side of the transfer: it keeps to itself the
// rules that only it must obey.
func (l *List) Wire(client Side, proto int) ([]string, error) {
	if l == nil {
		return nil, nil
	}
	rules := l.rules
	if client == Sender || proto < protoRules {
		var err error
		if rules, err = l.options.expandAllCVS(rules); err != nil {
			return nil, err
		}
	}
	var texts []string
	for _, r := range rules {
		sides := l.options.sidesOf(r)
		if sides == client.mod() {
			continue
		}
		if client == Sender && proto < protoRules && l.options.DeleteExcluded && sides == ModReceiver {
			return nil, tooModern(r)
		}
		text, err := r.wire(client, proto)
		if err != nil {
			return nil, err
		}
		texts = append(texts, text)
	}
	return texts, nil
}

// AddWire appends a rule that arrived from a client. Rules that name a file to
// be read now are never sent: they are refused unless Options.Load is set.
func (l *List) AddWire(text string, proto int) error {
	var r Rule
	var err error
	if proto < protoRules {
		r, err = ParseOld(KindExclude, text)
	} else {
		r, err = Parse(text)
	}
	if err != nil {
		return err
	}
	return l.Add(r)
}

func (r Rule) wire(client Side, proto int) (string, error) {
	mods := r.Mods
	if proto < protoPerishable && mods&ModPerishable != 0 {
		if client == Sender && proto == protoRules {
			return "", tooModern(r)
		}
		if client == Receiver {
			mods &^= ModPerishable
		}
	}
	if proto >= protoRules {
		return r.prefix(mods) + " " + r.Pattern, nil
	}
	if r.Kind == KindDirMerge || mods&^modSides != 0 {
		return "", tooModern(r)
	}
	if r.Kind == KindInclude {
		return "+ " + r.Pattern, nil
	}
	// A lone "!" would clear the list: rsync sends it so by mistake.
	if r.Pattern == "!" || strings.HasPrefix(r.Pattern, "- ") || strings.HasPrefix(r.Pattern, "+ ") {
		return "- " + r.Pattern, nil
	}
	return r.Pattern, nil
}

func tooModern(r Rule) error {
	return &Error{Rule: r.String(), Reason: "cannot be sent", Err: ErrTooModern}
}
