package controldb

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jobagent/jobagent/controldb/internal/call"
)

// Page bounds a list whose rows follow each other by a key K. Lists continue behind a key, not at a
// number of rows, so that a page costs as much as its rows, however long the list is. Only Skip
// reads rows that it does not return.
type Page[K any] struct {
	// After is the key behind which the page begins; nil: at the beginning of the list.
	After *K
	// Top is the maximum number of rows; 0 means 1000000.
	Top int
	// Skip is the number of rows that are left out before the first one.
	Skip int64
}

// Text returns the clause of a query whose filter is w, behind ORDER BY.
func (p Page[K]) Text(w *call.Filter) string {
	w.Args = append(w.Args, p.Skip)
	return fmt.Sprintf("\nOFFSET @p%d ROWS FETCH NEXT @p1 ROWS ONLY", len(w.Args))
}

// Filter returns the filter of a page whose key is the column of its order; sign is > or <.
func (p Page[K]) Filter(column, sign string) *call.Filter {
	w := call.NewFilter(p.Top)
	if p.After != nil {
		w.Add(column+" "+sign+" %s", *p.After)
	}
	return w
}

// ReadPage reads a page of size rows and, if more follow, the key of its last row. read reads a
// page that has one row more.
func ReadPage[K, R any](after *K, size int, read func(Page[K]) ([]R, error), key func(R) K) (rows []R, next *K, err error) {
	rows, err = read(Page[K]{After: after, Top: size + 1})
	if err == nil && len(rows) > size {
		rows = rows[:size]
		last := key(rows[size-1])
		next = &last
	}
	return rows, next, err
}

// ErrToken is the error about a text that is not the token of a key.
var ErrToken = errors.New("the token is not one that this list has given")

// Token returns the text of a key, for addresses. It is opaque for clients, but holds no secret and
// needs no state. A key has texts, numbers, times and IDs.
func Token(key any) string {
	text, err := json.Marshal(key)
	if err != nil {
		panic(err) // its fields can be encoded
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

// ReadToken reads a token into the key that key points to. The error is [ErrToken].
func ReadToken(token string, key any) error {
	text, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || json.Unmarshal(text, key) != nil {
		return ErrToken
	}
	return nil
}
