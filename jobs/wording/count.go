package wording

import (
	"fmt"
	"strings"
)

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
