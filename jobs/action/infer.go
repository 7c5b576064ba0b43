package action

import (
	"errors"
	"slices"
)

// ErrNoType means that the members of a definition do not identify its type.
var ErrNoType = errors.New("the members do not show the type of the command")

// Infer returns the type of a definition by its members: the only type to which most of them
// belong. The error is [ErrNoType] if there is no such type; for a text that is not a JSON object,
// it has the reason.
func Infer(text string) (Type, error) {
	faults := &Faults{}
	o := parse(faults, text, nil)
	if o == nil {
		return "", errors.New(faults.List[0].Message)
	}
	best, most, tied := Type(""), 0, false
	for _, t := range Types() {
		n := 0
		for _, m := range o.members {
			if slices.Contains(t.Info().members, m.Name) {
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
	if most == 0 || tied {
		return "", ErrNoType
	}
	return best, nil
}
