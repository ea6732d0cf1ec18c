package cli

import (
	"encoding/base64"
	"math"
	"strconv"
	"unicode/utf8"
)

// object is a JSON object of one line, put together in one buffer. docs/json.md
// describes what the commands make of it.
type object struct{ b []byte }

// newObject begins an event. A buffer may be handed over to be used again.
func newObject(buf []byte, event string) *object {
	o := &object{append(buf[:0], '{')}
	return o.str("event", event)
}

func (o *object) key(name string) {
	if o.b[len(o.b)-1] != '{' && o.b[len(o.b)-1] != '[' {
		o.b = append(o.b, ',')
	}
	o.b = append(o.b, '"')
	o.b = append(o.b, name...)
	o.b = append(o.b, '"', ':')
}

func (o *object) str(name, value string) *object {
	o.key(name)
	o.b = appendString(o.b, value)
	return o
}

// path is str for a file name. One that is no valid UTF-8 is given twice: with
// U+FFFD for what cannot be shown, and whole in base64 as NAME_base64.
func (o *object) path(name, value string) *object {
	o.str(name, value)
	if !utf8.ValidString(value) {
		o.str(name+"_base64", base64.StdEncoding.EncodeToString([]byte(value)))
	}
	return o
}

// given is path, left out when empty.
func (o *object) given(name, value string) *object {
	if value == "" {
		return o
	}
	return o.path(name, value)
}

func (o *object) paths(name string, values []string) *object {
	o.key(name)
	o.b = append(o.b, '[')
	for i, v := range values {
		if i > 0 {
			o.b = append(o.b, ',')
		}
		o.b = appendString(o.b, v)
	}
	o.b = append(o.b, ']')
	return o
}

func (o *object) num(name string, value int64) *object {
	o.key(name)
	o.b = strconv.AppendInt(o.b, value, 10)
	return o
}

func (o *object) float(name string, value float64) *object {
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return o
	}
	o.key(name)
	o.b = strconv.AppendFloat(o.b, value, 'f', 3, 64)
	return o
}

func (o *object) flag(name string, value bool) *object {
	o.key(name)
	o.b = strconv.AppendBool(o.b, value)
	return o
}

// open and close bracket a nested object or list.
func (o *object) open(name string, bracket byte) *object {
	o.key(name)
	o.b = append(o.b, bracket)
	return o
}

func (o *object) close(bracket byte) *object {
	o.b = append(o.b, bracket)
	return o
}

// element begins a nested object within a list.
func (o *object) element() *object {
	if o.b[len(o.b)-1] != '[' {
		o.b = append(o.b, ',')
	}
	o.b = append(o.b, '{')
	return o
}

// line ends the object and gives it with its newline.
func (o *object) line() []byte {
	o.b = append(o.b, '}', '\n')
	return o.b
}

func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c == '\n':
			b = append(b, '\\', 'n')
		case c == '\t':
			b = append(b, '\\', 't')
		case c < ' ' || c == 0x7f:
			b = append(b, '\\', 'u', '0', '0', "0123456789abcdef"[c>>4], "0123456789abcdef"[c&15])
		case c >= utf8.RuneSelf:
			r, n := utf8.DecodeRuneInString(s[i:])
			b = utf8.AppendRune(b, r)
			i += n
			continue
		default:
			b = append(b, c)
		}
		i++
	}
	return append(b, '"')
}
