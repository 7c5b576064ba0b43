package suggest

import (
	"math"
	"regexp"
	"strconv"
	"strings"
)

// These functions return proposals for invalid texts (D-E5). A proposal must be valid itself.

var (
	unsignedWords = regexp.MustCompile(`[0-9]+|[A-Za-z]+`)
	signedWords   = regexp.MustCompile(`-?[0-9]+|[A-Za-z]+`)
)

// Nearest returns the candidate that is nearest to a misspelled word. It returns "" if none is
// near.
func Nearest(word string, candidates []string) string {
	best, distance := "", len(word)/2+1
	word = strings.ToLower(strings.TrimSpace(word))
	if word == "" {
		return ""
	}
	for _, c := range candidates {
		lower := strings.ToLower(c)
		d := editDistance(word, lower)
		if len(word) >= 3 && (strings.HasPrefix(lower, word) || strings.HasPrefix(word, lower)) {
			d = min(d, 1)
		}
		if d < distance {
			best, distance = c, d
		}
	}
	return best
}

// editDistance returns the number of letters to insert, remove, replace or swap with their
// neighbour.
func editDistance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return max(len(a), len(b))
	}
	x, y := []rune(a), []rune(b)
	rows := make([][]int, len(x)+1)
	for i := range rows {
		rows[i] = make([]int, len(y)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(x); i++ {
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(x)][len(y)]
}

// Clamp returns the number from low to high that is nearest to the number in text. If low is
// negative, 0 is not allowed. It returns "" if the text is not a number.
func Clamp(text string, low, high int) string {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(n) {
		return ""
	}
	number := int(math.Round(min(max(n, float64(low)), float64(high))))
	if number == 0 && low < 0 {
		number = 1
	}
	return strconv.Itoa(number)
}

// Repaired replaces the numbers and names in one part of a cron field by the nearest allowed ones.
// It returns "" if the result is not valid.
func Repaired(part string, low, high int, names []string, valid func(part string) bool) string {
	words := unsignedWords
	if low < 0 {
		words = signedWords
	}
	body, step, hasStep := strings.Cut(part, "/")
	body = words.ReplaceAllStringFunc(body, func(word string) string {
		if near := Clamp(word, low, high); near != "" {
			return near
		}
		if near := Nearest(word, names); near != "" {
			return near
		}
		return word
	})
	if hasStep {
		body += "/" + Clamp(step, 1, max(high, 1))
	}
	if body == part || !valid(body) {
		return ""
	}
	return body
}
