package wording

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Unit is what a length counts.
type Unit int

const (
	// Characters counts code points, as a reader does.
	Characters Unit = iota
	// UTF16 counts the units of UTF-16, as SQL Server's nvarchar(n) and LEN do.
	UTF16
	// Bytes counts bytes of UTF-8, as memory and the limits of actions do.
	Bytes
)

// size returns the length of a character that takes n bytes.
func (u Unit) size(c rune, n int) int {
	switch {
	case u == Bytes:
		return n
	case u == UTF16 && c > 0xFFFF:
		return 2
	}
	return 1 // also for a byte that is not UTF-8
}

// ellipsis is the last character of a clipped text.
const ellipsis = "…"

// Length returns the length of s.
func Length(s string, unit Unit) (n int) {
	if unit == Bytes {
		return len(s)
	}
	for _, c := range s {
		n += unit.size(c, 0)
	}
	return n
}

// Head returns the longest beginning of s of at most limit units. No character is split.
func Head(s string, limit int, unit Unit) string {
	if len(s) <= limit { // no unit is smaller than a byte
		return s
	}
	length := 0
	for at := 0; at < len(s); {
		c, n := utf8.DecodeRuneInString(s[at:])
		if length += unit.size(c, n); length > limit {
			return s[:at]
		}
		at += n
	}
	return s
}

// Clip returns s if its length is at most limit. Otherwise it returns a beginning of s and "…",
// together of at most limit units. The limit is at least the length of "…": 1, or 3 bytes.
func Clip(s string, limit int, unit Unit) string {
	if head := Head(s, limit, unit); len(head) == len(s) {
		return s
	}
	return Head(s, limit-Length(ellipsis, unit), unit) + ellipsis
}

// Count returns a number with its noun in the right form: 1 run, 2 runs, 0 runs.
func Count[N ~int | ~int64](n N, noun string) string {
	if n != 1 {
		switch before, isY := strings.CutSuffix(noun, "y"); {
		case isY && !strings.HasSuffix(before, "e") && !strings.HasSuffix(before, "a"):
			noun = before + "ies"
		default:
			noun += "s"
		}
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// CountUpTo is [Count] for a number that was counted up to a bound only.
func CountUpTo[N ~int | ~int64](n, bound N, noun string) string {
	if n > bound {
		return "more than " + Count(bound, noun)
	}
	return Count(n, noun)
}

// Plural returns one if n is 1, and many otherwise, for words that have no regular plural.
func Plural[N ~int | ~int64](n N, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// First lists at most five names, with an ellipsis if there are more.
func First(names []string) string {
	if len(names) > 5 {
		return strings.Join(names[:5], ", ") + ", …"
	}
	return strings.Join(names, ", ")
}
