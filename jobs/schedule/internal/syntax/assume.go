package syntax

import (
	"fmt"
	"strings"
)

// Assumed collects what is taken for parts of a clock time or day that neither the text nor a start
// gives.
type Assumed struct {
	// RoundedUp means that the parts of the creation are those of the first full minute after it.
	RoundedUp     bool
	zero, created []string
}

// Zero notes that a part is 0.
func (a *Assumed) Zero(part string) { a.zero = append(a.zero, part) }

// Created notes that a part is that of the creation.
func (a *Assumed) Created(part string, value int) {
	a.CreatedText(fmt.Sprintf("%s %d", part, value))
}

// CreatedText is Created for a value in words.
func (a *Assumed) CreatedText(part string) { a.created = append(a.created, part) }

// AssumeAll adds the assumptions as sentences.
func (p *Parser) AssumeAll(a Assumed) {
	if len(a.zero) == 1 {
		p.Assume(fmt.Sprintf("%s 0: the text has neither a %s nor a start.", capital(a.zero[0]), a.zero[0]))
	} else if len(a.zero) > 1 {
		p.Assume(capital(strings.Join(a.zero, " 0 and ")) + " 0: the text has neither these nor a start.")
	}
	as := ", as at the creation"
	if a.RoundedUp {
		as = ", as at the first full minute after the creation"
	}
	if n := len(a.created); n == 1 {
		p.Assume(capital(a.created[0]) + as + ": the text has neither this nor a start.")
	} else if n > 1 {
		p.Assume(capital(strings.Join(a.created[:n-1], ", ")) + " and " + a.created[n-1] + as + ": the text has neither these nor a start.")
	}
}

func capital(text string) string { return strings.ToUpper(text[:1]) + text[1:] }
