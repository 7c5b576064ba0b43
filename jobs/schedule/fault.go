package schedule

import (
	"encoding/json"
	"fmt"
	"strings"
)

// faults collects what is wrong with a specification, in the order in which it is found (D-E5).
type faults struct{ list []Fault }

// add notes one fault; value is JSON text, so that a text stands in quotes and a number does not.
func (f *faults) add(path, value, allowed, nearest string) {
	f.list = append(f.list, Fault{Path: path, Value: value, Allowed: allowed, Nearest: nearest})
}

// merge takes over the faults of an error that has some, and notes any other as it is.
func (f *faults) merge(path string, err error) {
	if all, ok := err.(*Error); ok {
		f.list = append(f.list, all.Faults...)
	} else if err != nil {
		f.add(path, "null", err.Error(), "")
	}
}

// err is all of them as a *Error, or nil.
func (f *faults) err() error {
	if len(f.list) == 0 {
		return nil
	}
	return &Error{Faults: f.list}
}

// MarshalJSON is the form in which the command line and the database show a fault: path, value (the
// JSON value itself where there is one) and a message of one sentence.
func (f Fault) MarshalJSON() ([]byte, error) {
	value := json.RawMessage(f.Value)
	if !json.Valid(value) {
		value = json.RawMessage(quote(f.Value))
	}
	message := "allowed is " + f.Allowed
	if f.Nearest != "" {
		message += "; try " + f.Nearest
	}
	b, err := json.Marshal(struct {
		Path    string          `json:"path"`
		Value   json.RawMessage `json:"value"`
		Message string          `json:"message"`
	}{f.Path, value, message})
	if err != nil {
		return nil, fmt.Errorf("fault of %s: %w", f.Path, err)
	}
	return b, nil
}

// Nearest is the candidate that a misspelled word most likely means; empty when none is near.
func Nearest(word string, candidates []string) string { return nearest(word, candidates) }

// nearest is the candidate that a misspelled word most likely means; empty when none is near.
func nearest(word string, candidates []string) string {
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

// editDistance is the number of letters to insert, remove, replace or swap with their neighbour.
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
