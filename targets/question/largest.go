package question

import (
	"bytes"
	"cmp"
	"container/heap"
	"database/sql/driver"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/mssql"
)

// Largest is a sink that keeps the rows with the largest values of a column over all targets.
type Largest struct {
	// Rows is how many rows are kept, and Column the name of the column, without regard to case.
	Rows   int
	Column string
	// Said takes the messages; nil drops them.
	Said func(t targets.Target, m targets.Message)

	mu   sync.Mutex
	kept largestHeap
}

// keptRow is a row that is kept.
type keptRow struct {
	of  *largestRows
	row []driver.Value
	seq int // rows of equal value stay in the order in which they came
}

// value is the value by which the row is kept.
func (k *keptRow) value() driver.Value { return k.row[k.of.at] }

// largestHeap has the smallest of the kept rows first.
type largestHeap struct {
	rows []*keptRow
	seq  int
}

func (h *largestHeap) Len() int { return len(h.rows) }

func (h *largestHeap) Less(i, j int) bool { return h.rows[i].compare(h.rows[j]) < 0 }

func (h *largestHeap) Swap(i, j int) { h.rows[i], h.rows[j] = h.rows[j], h.rows[i] }

func (h *largestHeap) Push(x any) {
	if row, ok := x.(*keptRow); ok {
		h.rows = append(h.rows, row)
	}
}

func (h *largestHeap) Pop() any {
	last := h.rows[len(h.rows)-1]
	h.rows = h.rows[:len(h.rows)-1]
	return last
}

// compare orders rows by their values; of equal ones, the later is the smaller.
func (k *keptRow) compare(other *keptRow) int {
	return cmp.Or(compareValues(k.value(), other.value()), cmp.Compare(other.seq, k.seq))
}

// Begin implements [Sink].
func (l *Largest) Begin(target targets.Target, number int, columns []mssql.Column) (Rows, error) {
	at := columnIndex(columns, l.Column)
	if at < 0 {
		return nil, noColumn(number, l.Column, columns)
	}
	return &largestRows{l, target, number, columns, at}, nil
}

// Message implements [Sink].
func (l *Largest) Message(target targets.Target, m targets.Message) {
	if l.Said != nil {
		l.Said(target, m)
	}
}

// PassOn gives the rows to another sink, the largest first.
func (l *Largest) PassOn(to Sink) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	slices.SortFunc(l.kept.rows, func(x, y *keptRow) int { return y.compare(x) })
	for _, k := range l.kept.rows {
		rows, err := to.Begin(k.of.target, k.of.number, k.of.columns)
		if err != nil {
			return err
		}
		if err := cmp.Or(rows.Row(k.row), rows.End(nil)); err != nil {
			return err
		}
	}
	return nil
}

// largestRows takes one result set.
type largestRows struct {
	to      *Largest
	target  targets.Target
	number  int
	columns []mssql.Column
	at      int
}

// Row implements [Rows].
func (r *largestRows) Row(row []driver.Value) error {
	l := r.to
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept.seq++
	k := &keptRow{r, row, l.kept.seq}
	if len(l.kept.rows) == l.Rows && k.compare(l.kept.rows[0]) <= 0 {
		return nil
	}
	k.row = slices.Clone(row)
	for i, v := range k.row {
		if b, ok := v.([]byte); ok {
			k.row[i] = bytes.Clone(b)
		}
	}
	heap.Push(&l.kept, k)
	if len(l.kept.rows) > l.Rows {
		heap.Pop(&l.kept)
	}
	return nil
}

// End implements [Rows]. The rows of a target that fails stay, as they do where rows are printed.
func (r *largestRows) End(error) error { return nil }

// compareValues compares two values of a column. NULL is less than all; the digits of decimals are
// numbers; values of different types are compared by their text.
func compareValues(x, y driver.Value) int {
	if x == nil || y == nil {
		switch {
		case x != nil:
			return 1
		case y != nil:
			return -1
		}
		return 0
	}
	if a, ok := x.(time.Time); ok {
		if b, ok := y.(time.Time); ok {
			return a.Compare(b)
		}
	}
	if a, ok := x.(int64); ok {
		if b, ok := y.(int64); ok {
			return cmp.Compare(a, b)
		}
	}
	if a, ok := numberOf(x); ok {
		if b, ok := numberOf(y); ok {
			return a.Cmp(b)
		}
	}
	return strings.Compare(plainText(x), plainText(y))
}

func plainText(v driver.Value) string {
	if b, ok := v.([]byte); ok {
		return string(b)
	}
	return fmt.Sprint(v)
}

func numberOf(v driver.Value) (*big.Rat, bool) {
	switch v := v.(type) {
	case int64:
		return new(big.Rat).SetInt64(v), true
	case bool:
		n := int64(0)
		if v {
			n = 1
		}
		return new(big.Rat).SetInt64(n), true
	case float64:
		r := new(big.Rat).SetFloat64(v)
		return r, r != nil
	case []byte:
		if len(v) > 80 || strings.ContainsAny(string(v), "/eE_xX") { // no decimal of SQL Server
			return nil, false
		}
		return new(big.Rat).SetString(string(v))
	}
	return nil, false
}
