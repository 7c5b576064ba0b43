// Package isoduration reads durations of ISO 8601, such as PT15M, and keeps months apart from days.
package isoduration

import (
	"errors"
	"math/big"
	"regexp"
	"strings"
)

// ErrInvalid is the error about a text that is not a duration.
var ErrInvalid = errors.New("want a duration of ISO 8601, such as PT15M, PT2H, P1D, P1W or P1M")

// Duration is a duration: Months and Nanoseconds together. A day has 24 hours.
type Duration struct {
	Months, Nanoseconds *big.Int
}

// form is the form of a duration. The sign is checked apart.
var form = regexp.MustCompile(`^P(?:(\d+)Y)?(?:(\d+)M)?(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:[.,](\d{1,9}))?S)?)?$`)

// maxLength bounds a text: nobody writes longer durations.
const maxLength = 100

// Parse reads a duration in any case of its letters. It has no sign.
func Parse(text string) (Duration, error) {
	text = strings.ToUpper(text)
	if len(text) > maxLength || strings.HasSuffix(text, "T") || text == "P" {
		return Duration{}, ErrInvalid
	}
	m := form.FindStringSubmatch(text)
	if m == nil {
		return Duration{}, ErrInvalid
	}
	number := func(i int) *big.Int {
		n, ok := new(big.Int).SetString(m[i], 10)
		if !ok {
			return new(big.Int) // absent
		}
		return n
	}
	d := Duration{Months: new(big.Int).Add(new(big.Int).Mul(number(1), big.NewInt(12)), number(2)), Nanoseconds: new(big.Int)}
	add := func(i int, nanoseconds int64) {
		d.Nanoseconds.Add(d.Nanoseconds, new(big.Int).Mul(number(i), big.NewInt(nanoseconds)))
	}
	const second, minute, hour, day = 1e9, 60e9, 3600e9, 86400e9
	add(3, 7*day)
	add(4, day)
	add(5, hour)
	add(6, minute)
	add(7, second)
	if m[8] != "" {
		fraction, _ := new(big.Int).SetString((m[8] + "000000000")[:9], 10)
		d.Nanoseconds.Add(d.Nanoseconds, fraction)
	}
	return d, nil
}
