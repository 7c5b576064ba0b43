package question

import (
	"cmp"
	"database/sql/driver"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"sync"

	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/mssql"
)

// The columns of a target, by which rows can be grouped as by their own.
const (
	ServerColumn   = "server_name"
	DatabaseColumn = "database_name"
)

// maxGroups bounds the memory of totals, in groups.
const maxGroups = 1_000_000

// Totals is a sink that adds up the rows of all targets without keeping them. It counts complete
// result sets only: a target that fails adds nothing of the result set in which it failed.
type Totals struct {
	// By are the columns whose values make a group; none: all rows are one group. Names are
	// compared without regard to case.
	By []string
	// Sum are the columns that are added up. NULL adds nothing.
	Sum []string
	// Said takes the messages; nil drops them.
	Said func(t targets.Target, m targets.Message)

	mu     sync.Mutex
	groups map[string]*Total
}

// Total is what was added up for one group.
type Total struct {
	// Group are the values of By; nil means NULL.
	Group []*string
	// Databases is the number of targets with a row in the group, and Rows that of the rows.
	Databases, Rows int64
	// Sums are the sums of Sum, as decimal numbers; nil means that all values were NULL.
	Sums []*Number
}

// Number is a sum. Integers and decimals are exact; a FLOAT or REAL among them makes the sum one.
type Number struct {
	whole   int64 // the sum of integers, while it fits
	exact   big.Rat
	scale   int // decimals of exact
	float   float64
	inexact bool
}

// String returns the number as JSON has it.
func (n *Number) String() string {
	if n.inexact {
		rest, _ := n.rat().Float64()
		return mssql.Column{Type: "FLOAT"}.Text(n.float + rest)
	}
	return n.rat().FloatString(n.scale)
}

// rat returns the exact part.
func (n *Number) rat() *big.Rat { return new(big.Rat).Add(&n.exact, new(big.Rat).SetInt64(n.whole)) }

// Compare compares two numbers; nil is less than all.
func (n *Number) Compare(other *Number) int {
	switch {
	case n == nil && other == nil:
		return 0
	case n == nil:
		return -1
	case other == nil:
		return 1
	case n.inexact || other.inexact:
		x, _ := n.rat().Float64()
		y, _ := other.rat().Float64()
		return cmp.Compare(x+n.float, y+other.float)
	}
	return n.rat().Cmp(other.rat())
}

// add adds a value that is not NULL. ok is false if it is no number.
func (n *Number) add(v driver.Value) (ok bool) {
	switch v := v.(type) {
	case int64:
		if sum := n.whole + v; (sum > n.whole) == (v > 0) {
			n.whole = sum
			return true
		}
		n.exact.Add(&n.exact, new(big.Rat).SetInt64(v))
	case bool:
		if v {
			return n.add(int64(1))
		}
	case float64:
		n.float, n.inexact = n.float+v, true
	case []byte: // the digits of a decimal
		text := string(v)
		r, ok := new(big.Rat).SetString(text)
		if !ok {
			return false
		}
		n.exact.Add(&n.exact, r)
		if _, decimals, found := strings.Cut(text, "."); found {
			n.scale = max(n.scale, len(decimals))
		}
	default:
		return false
	}
	return true
}

// merge adds another number.
func (n *Number) merge(other *Number) {
	if !n.add(other.whole) {
		return
	}
	n.exact.Add(&n.exact, &other.exact)
	n.scale = max(n.scale, other.scale)
	n.float, n.inexact = n.float+other.float, n.inexact || other.inexact
}

// errGroups means that there are too many groups.
var errGroups = fmt.Errorf("there are more than %d groups: group by fewer columns", maxGroups)

// Begin implements [Sink].
func (t *Totals) Begin(target targets.Target, number int, columns []mssql.Column) (Rows, error) {
	r := &totalRows{to: t, target: target, columns: columns, groups: map[string]*Total{}}
	for _, name := range t.By {
		i := columnIndex(columns, name)
		switch {
		case i >= 0:
		case strings.EqualFold(name, ServerColumn):
			i = ofServer
		case strings.EqualFold(name, DatabaseColumn):
			i = ofDatabase
		default:
			return nil, noColumn(number, name, columns)
		}
		r.by = append(r.by, i)
	}
	for _, name := range t.Sum {
		i := columnIndex(columns, name)
		if i < 0 {
			return nil, noColumn(number, name, columns)
		}
		if k := columns[i].Kind(); k != mssql.KindNumber && k != mssql.KindBit {
			return nil, &TargetError{fmt.Errorf("result set %d: the column %q is %s, which cannot be added up", number, name, columns[i].Type)}
		}
		r.sum = append(r.sum, i)
	}
	return r, nil
}

// The indexes of the columns of a target.
const (
	ofServer   = -1
	ofDatabase = -2
)

// columnIndex returns the index of the first column with a name; -1 if there is none.
func columnIndex(columns []mssql.Column, name string) int {
	return slices.IndexFunc(columns, func(c mssql.Column) bool { return strings.EqualFold(c.Name, name) })
}

// noColumn returns the error of a result set without a column.
func noColumn(number int, name string, columns []mssql.Column) error {
	names := make([]string, 0, len(columns))
	for _, c := range columns[:min(len(columns), 20)] {
		names = append(names, c.Name)
	}
	return &TargetError{fmt.Errorf("result set %d has no column %q: it has %s", number, name, strings.Join(names, ", "))}
}

// Message implements [Sink].
func (t *Totals) Message(target targets.Target, m targets.Message) {
	if t.Said != nil {
		t.Said(target, m)
	}
}

// Groups returns the totals: the largest first sum first, or without sums the most rows, and at
// most top of them if top is not 0.
func (t *Totals) Groups(top int) []*Total {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := make([]*Total, 0, len(t.groups))
	for _, g := range t.groups {
		list = append(list, g)
	}
	slices.SortFunc(list, func(x, y *Total) int {
		order := 0
		if len(x.Sums) > 0 {
			order = y.Sums[0].Compare(x.Sums[0])
		}
		return cmp.Or(order, cmp.Compare(y.Rows, x.Rows), slices.CompareFunc(x.Group, y.Group, compareText))
	})
	if top > 0 && len(list) > top {
		list = list[:top]
	}
	return list
}

// compareText compares two values of a group; NULL is less than all.
func compareText(x, y *string) int {
	switch {
	case x == nil && y == nil:
		return 0
	case x == nil:
		return -1
	case y == nil:
		return 1
	}
	return strings.Compare(*x, *y)
}

// totalRows adds up one result set.
type totalRows struct {
	to      *Totals
	target  targets.Target
	columns []mssql.Column
	by, sum []int
	groups  map[string]*Total
	key     []byte
}

// Row implements [Rows].
func (r *totalRows) Row(row []driver.Value) error {
	r.key = r.key[:0]
	for _, i := range r.by {
		text := r.text(row, i)
		if text == nil {
			r.key = append(r.key, 0)
			continue
		}
		r.key = append(r.key, 1)
		r.key = fmt.Appendf(r.key, "%d:%s", len(*text), *text)
	}
	g := r.groups[string(r.key)]
	if g == nil {
		if len(r.groups) == maxGroups {
			return errGroups
		}
		g = &Total{Databases: 1, Sums: make([]*Number, len(r.sum))}
		for _, i := range r.by {
			g.Group = append(g.Group, r.text(row, i))
		}
		r.groups[string(r.key)] = g
	}
	g.Rows++
	for i, at := range r.sum {
		if row[at] == nil {
			continue
		}
		if g.Sums[i] == nil {
			g.Sums[i] = &Number{}
		}
		if !g.Sums[i].add(row[at]) {
			return &TargetError{fmt.Errorf("the column %q has a value that is not a number", r.columns[at].Name)}
		}
	}
	return nil
}

// text returns a value of a group; nil for NULL.
func (r *totalRows) text(row []driver.Value, i int) *string {
	var text string
	switch {
	case i == ofServer:
		text = r.target.Server
	case i == ofDatabase:
		text = r.target.Database
	case row[i] == nil:
		return nil
	default:
		text = r.columns[i].Text(row[i])
	}
	return &text
}

// End implements [Rows]: it adds the result set to the totals if it is complete, or cut by a limit.
func (r *totalRows) End(err error) error {
	if err != nil && !errors.Is(err, ErrEnough) {
		return nil
	}
	t := r.to
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.groups == nil {
		t.groups = map[string]*Total{}
	}
	for key, g := range r.groups {
		all := t.groups[key]
		if all == nil {
			if len(t.groups) == maxGroups {
				return errGroups
			}
			t.groups[key] = g
			continue
		}
		all.Databases += g.Databases
		all.Rows += g.Rows
		for i, n := range g.Sums {
			switch {
			case n == nil:
			case all.Sums[i] == nil:
				all.Sums[i] = n
			default:
				all.Sums[i].merge(n)
			}
		}
	}
	return nil
}
