package wire

const (
	maxRule  = 5119
	maxRules = 1 << 20
)

// Rules reads the filter rules that a client sends, as text (§7).
func (r *Reader) Rules() ([]string, error) {
	var rules []string
	for {
		n := r.Int()
		if n == 0 || r.err != nil {
			return rules, r.done("filter rules")
		}
		if n < 0 || n > maxRule {
			r.fail(ExitLimit, "filter rule of %d bytes", n)
		} else if len(rules) == maxRules {
			r.fail(ExitLimit, "more than %d filter rules", maxRules)
		} else {
			rules = append(rules, r.str(int(n)))
		}
	}
}

// Rules writes filter rules. Each must have 1 to 5119 bytes.
func (w *Writer) Rules(rules []string) error {
	for _, rule := range rules {
		if rule == "" || len(rule) > maxRule {
			return &Error{Code: ExitLimit, What: "filter rule is empty or too long: " + rule[:min(len(rule), 60)]}
		}
		w.Int(int32(len(rule)))
		w.String(rule)
	}
	w.Int(0)
	return w.err
}
