package format

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/meter"
)

// numberPattern is one section of a custom number format.
type numberPattern struct {
	items            []patternItem
	minWhole         int // zeros before the point
	minFrac, maxFrac int
	isGrouped        bool
	scale            int // digits by which the value moves: 2 for %, 3 for ‰, -3 for each trailing comma
	hasWhole         bool
	hasExponent      bool // the number has as many digits before the point as the pattern has places
}

// patternItem is a literal, the place of a digit before or after the point, the point, or an
// exponent.
type patternItem struct {
	literal string // of an exponent: E or e, a sign, and a zero for each of the least digits
	slot    byte   // '0', '#', '.', 'E', or 0 for a literal
	isFrac  bool
}

// customNumber prints a number in a custom format with up to three sections: positive; negative;
// zero.
func customNumber(m *meter.Meter, c *Culture, sign, plain, format string) (_ string, ok bool, err error) {
	sections := splitSections(format)
	first, ok, err := readNumberPattern(m, sections[0])
	if !ok || err != nil {
		return "", false, err
	}
	isZero := isZeroDigits(roundDigits(shiftAny(plain, first.scale), first.maxFrac))
	switch {
	case isZero && len(sections) > 2:
		if first, ok, err = readNumberPattern(m, sections[2]); !ok || err != nil {
			return "", false, err
		}
		sign = ""
	case sign != "" && !isZero && len(sections) > 1 && sections[1] != "":
		if first, ok, err = readNumberPattern(m, sections[1]); !ok || err != nil {
			return "", false, err
		}
		sign = ""
	case isZero:
		sign = ""
	}
	s, err := first.print(m, c, plain)
	return sign + s, true, err
}

// shiftAny moves the point by a number of digits in either direction.
func shiftAny(s string, n int) string {
	if n >= 0 {
		return shift(s, n)
	}
	whole, frac, _ := strings.Cut(s, ".")
	if missing := 1 - n - len(whole); missing > 0 {
		whole = strings.Repeat("0", missing) + whole
	}
	cut := len(whole) + n
	return whole[:cut] + "." + whole[cut:] + frac
}

// splitSections splits a format at its semicolons, outside quotes. The part behind the third
// section, which has no meaning, is one part.
func splitSections(format string) []string {
	var out []string
	start := 0
	for i := 0; i < len(format) && len(out) < 3; i++ {
		switch c := format[i]; c {
		case '\\':
			i++
		case '\'', '"':
			if end := strings.IndexByte(format[i+1:], c); end >= 0 {
				i += end + 1
			}
		case ';':
			out = append(out, format[start:i])
			start = i + 1
		}
	}
	return append(out, format[start:])
}

// perMille is the sign that shows thousandths.
const perMille = "‰"

// exponent matches an exponent at the beginning of a part of a section.
var exponent = regexp.MustCompile(`^[Ee][+-]?0+`)

// readNumberPattern reads a section.
func readNumberPattern(m *meter.Meter, s string) (p numberPattern, ok bool, err error) {
	inFrac := false
	commas := 0
	literal := func(t string) { p.items = append(p.items, patternItem{literal: t}) }
	for i := 0; i < len(s); i++ {
		if err := m.Work(partWork); err != nil {
			return p, false, err
		}
		switch c := s[i]; c {
		case '0', '#':
			if commas > 0 && !inFrac {
				p.isGrouped = true
			}
			commas = 0
			if inFrac {
				p.maxFrac++
				if c == '0' {
					p.minFrac = p.maxFrac
				}
			} else {
				p.hasWhole = true
				if c == '0' || p.minWhole > 0 {
					p.minWhole++
				}
			}
			p.items = append(p.items, patternItem{slot: c, isFrac: inFrac})
		case '.':
			if inFrac {
				continue
			}
			p.scale -= 3 * commas
			commas, inFrac = 0, true
			p.items = append(p.items, patternItem{slot: '.'})
		case ',':
			if p.hasWhole && !inFrac {
				commas++
			}
		case '%':
			p.scale += 2
			literal("%")
		case 'E', 'e':
			e := exponent.FindString(s[i:])
			if e == "" {
				literal(s[i : i+1])
				break
			}
			p.hasExponent = true
			p.items = append(p.items, patternItem{literal: e, slot: 'E'})
			i += len(e) - 1
		case '\\':
			if i++; i < len(s) {
				literal(s[i : i+1])
			}
		case '\'', '"':
			end := strings.IndexByte(s[i+1:], c)
			if end < 0 {
				return p, false, nil
			}
			literal(s[i+1 : i+1+end])
			i += end + 1
		default:
			if strings.HasPrefix(s[i:], perMille) {
				p.scale += 3
			}
			literal(s[i : i+1])
		}
	}
	if !inFrac {
		p.scale -= 3 * commas
	}
	return p, true, nil
}

// print fills the pattern with an unsigned number.
func (p numberPattern) print(m *meter.Meter, c *Culture, plain string) (string, error) {
	var out strings.Builder
	places := 0
	for _, it := range p.items {
		if (it.slot == '0' || it.slot == '#') && !it.isFrac {
			places++
		}
	}
	rounded := func() (string, string) {
		whole, frac, _ := strings.Cut(roundDigits(shiftAny(plain, p.scale), p.maxFrac), ".")
		return strings.TrimLeft(whole, "0"), frac
	}
	power := 0
	if p.hasExponent && !isZeroDigits(plain) {
		first, _ := exponentOf(plain)
		power = first + p.scale - places + 1
		p.scale -= power
		if whole, _ := rounded(); len(whole) > places { // 9.99 has become 10.0
			power, p.scale = power+1, p.scale-1
		}
	}
	whole, frac := rounded()
	frac = strings.TrimRight(frac, "0")
	if len(frac) < p.minFrac {
		frac += strings.Repeat("0", p.minFrac-len(frac))
	}
	if len(whole) < p.minWhole {
		whole = strings.Repeat("0", p.minWhole-len(whole)) + whole
	}
	// Digits beyond the places go to the first place; places beyond the digits stay empty.
	emit := func(from, n int) {
		for k := from; k < from+n; k++ {
			out.WriteByte(whole[k])
			if left := len(whole) - 1 - k; p.isGrouped && left > 0 && left%3 == 0 {
				out.WriteString(c.Group)
			}
		}
	}
	place, done := 0, 0
	fracDone := 0
	for _, it := range p.items {
		if err := m.Work(partWork); err != nil {
			return "", err
		}
		switch {
		case it.slot == 0:
			out.WriteString(it.literal)
		case it.slot == 'E':
			mark := strings.TrimRight(it.literal, "-0") // "-" shows the sign of negative exponents only
			if power < 0 {
				mark = mark[:1] + "-"
			}
			fmt.Fprintf(&out, "%s%0*d", mark, strings.Count(it.literal, "0"), max(power, -power))
		case it.slot == '.':
			if place == 0 && places == 0 && whole != "" { // ".##" omits no digits of the whole part
				emit(0, len(whole))
			}
			if frac != "" {
				out.WriteString(c.Decimal)
			}
		case it.isFrac:
			if fracDone < len(frac) {
				out.WriteByte(frac[fracDone])
				fracDone++
			}
		default:
			place++
			want := len(whole) - (places - place) // digits to print up to this place
			if want > done {
				emit(done, want-done)
				done = want
			}
		}
	}
	return out.String(), nil
}
