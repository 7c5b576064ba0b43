package action

import (
	"encoding/json"
	"slices"
)

// Infer returns the type of a definition by its members: the only type to which most of them
// belong. The second result is false if there is no such type, or the text is no JSON object.
func Infer(text string) (Type, bool) {
	var all map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &all) != nil {
		return "", false
	}
	best, most, tied := Type(""), 0, false
	for _, t := range Types() {
		n := 0
		for name := range all {
			if slices.Contains(members[t], name) {
				n++
			}
		}
		switch {
		case n > most:
			best, most, tied = t, n, false
		case n == most:
			tied = true
		}
	}
	return best, most > 0 && !tied
}
