package importer

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/jobagent/jobagent/jobs/schedule"
)

// names are the names of a list whose elements are only added. They are compared in any case, as
// [strings.EqualFold] does. A search through the list for each name would take a second for the
// thousand jobs that a file may have.
type names struct {
	count int // how many elements of the list were added
	// next has the number that the next element with a name is given, by the name in one case.
	next map[string]int
}

// add adds the name of the next element of the list.
func (n *names) add(name string) {
	n.count++
	if n.next == nil {
		n.next = map[string]int{}
	}
	if key := oneCase(name); n.next[key] == 0 {
		n.next[key] = 2
	}
}

// has reports whether an element has a name.
func (n *names) has(name string) bool { return n.next[oneCase(name)] > 0 }

// unique returns name, or name with a number appended if the name is in use. It calls renamed with
// the changed name.
func (n *names) unique(name string, renamed func(string)) string {
	if !n.has(name) {
		return name
	}
	for key := oneCase(name); ; n.next[key]++ {
		suffix := fmt.Sprintf(" (%d)", n.next[key])
		base, _ := cut(name, maxName-len(suffix))
		if candidate := base + suffix; !n.has(candidate) {
			renamed(candidate)
			return candidate
		}
	}
}

// oneCase returns a text with the smallest of the letters that differ only in case.
func oneCase(text string) string {
	return strings.Map(func(r rune) rune {
		for folded := unicode.SimpleFold(r); ; folded = unicode.SimpleFold(folded) {
			if folded <= r {
				return folded
			}
		}
	}, text)
}

// Zone returns the IANA zone of an IANA name or of a Windows name in any case, such as SQL Server's
// CURRENT_TIMEZONE_ID() returns (D-Z1). The error is a *schedule.Error.
func Zone(name string) (string, error) {
	zone, err := schedule.LoadZone(name)
	if err != nil {
		return "", err
	}
	return zone.String(), nil
}
