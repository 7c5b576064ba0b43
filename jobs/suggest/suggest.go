package suggest

import (
	"fmt"
	"strconv"
	"strings"
)

// These functions return proposals for invalid texts (D-E5). A proposal changes the spelling of a
// text and never its meaning: where two candidates are equally near, there is none, and a number is
// never replaced by another number.

// aliases are words of which the first letters are no part of the candidate.
var aliases = map[string]string{"daily": "day"}

// most returns the largest number of slips in a word that still is that word.
func most(word string) int {
	switch n := len([]rune(word)); {
	case n < 2:
		return 0
	case n < 6:
		return 1
	}
	return 2
}

// Nearest returns the candidate that is nearest to a misspelled word. It returns "" if none is
// near, or if two are equally near.
func Nearest(word string, candidates []string) string {
	word = strings.ToLower(strings.TrimSpace(word))
	best, distance, tied := "", most(word)+1, false
	if word == "" || len(word) > maxWord || strings.Trim(word, "+-") != word {
		return "" // a sign belongs to a number beside the word
	}
	const digits = "0123456789"
	hasDigit := strings.ContainsAny(word, digits)
	for _, c := range candidates {
		lower := strings.ToLower(c)
		if len(lower) > len(word)+2 && !strings.HasPrefix(lower, word) || hasDigit && !strings.ContainsAny(lower, digits) {
			continue // a digit is not a slip of a letter: it belongs to something else
		}
		var d int
		switch alias := aliases[word]; {
		case alias != "" && strings.TrimSuffix(lower, "s") == alias:
			d = 0
		case len(word) >= 3 && (strings.HasPrefix(lower, word) || len(lower) >= 3 && len(word) <= len(lower)+2 && strings.HasPrefix(word, lower)):
			d = min(1, editDistance(word, lower, distance))
		default:
			d = editDistance(word, lower, distance)
		}
		switch {
		case d < distance:
			best, distance, tied = c, d, false
		case d == distance && lower != strings.ToLower(best):
			tied = true
		}
	}
	if tied {
		return ""
	}
	return best
}

// DidYouMean returns "; did you mean X?" with the nearest candidate, or "" if none is near.
func DidYouMean(word string, candidates []string) string {
	if near := Nearest(word, candidates); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return ""
}

// maxWord is the length, in bytes, of the longest word for which a candidate is searched.
const maxWord = 64

// editDistance returns the number of letters to insert, remove, replace or swap with their
// neighbour. If there are more than limit, it returns any number above limit: a word is compared
// with hundreds of candidates, of which most are far away.
func editDistance(a, b string, limit int) int {
	if len(a) > maxWord || len(b) > maxWord {
		return limit + 1
	}
	var xs, ys [maxWord]rune
	x, y := xs[:0], ys[:0]
	for _, r := range a {
		x = append(x, r)
	}
	for _, r := range b {
		y = append(y, r)
	}
	if max(len(x)-len(y), len(y)-len(x)) > limit {
		return limit + 1
	}
	var rows [3][maxWord + 1]int // the present row of the matrix, and the two above it
	for j := range len(y) + 1 {
		rows[0][j] = j
	}
	for i := 1; i <= len(x); i++ {
		row, above, twoAbove := &rows[i%3], &rows[(i+2)%3], &rows[(i+1)%3]
		row[0] = i
		nearest := i
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			row[j] = min(above[j]+1, row[j-1]+1, above[j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				row[j] = min(row[j], twoAbove[j-2]+1)
			}
			nearest = min(nearest, row[j])
		}
		if nearest > limit+1 { // a swap may still come from the row above
			return limit + 1
		}
	}
	return rows[len(x)%3][len(y)]
}

// Number returns the plain spelling of a whole number from low to high: "7" for "007", "+7" and
// "7.0". If low is negative, 0 is not allowed. It returns "" for any other number or text.
func Number(text string, low, high int) string {
	digits, negative := strings.CutPrefix(strings.TrimSpace(text), "-")
	if !negative {
		digits = strings.TrimPrefix(digits, "+")
	}
	if whole, fraction, ok := strings.Cut(digits, "."); ok && fraction != "" && strings.Trim(fraction, "0") == "" {
		digits = whole
	}
	if digits == "" || len(digits) > 18 || strings.Trim(digits, "0123456789") != "" {
		return ""
	}
	n, err := strconv.Atoi(digits)
	if negative {
		n = -n
	}
	if err != nil || n < low || n > high || n == 0 && low < 0 {
		return ""
	}
	return strconv.Itoa(n)
}
