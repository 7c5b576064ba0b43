package compile

import (
	"slices"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// placeTerm is an item of the total order of a dynamic cursor's rows: those of ORDER BY, and then
// the rowids of all tables.
type placeTerm struct {
	n    *node
	at   int // index of its value in a place
	desc bool
}

// current limits a query to the row of a place. The rows of a keyset cursor are found by their
// keys and need not meet the conditions of WHERE any longer.
func (q *query) current(kind CursorKind, tables []*cursorTable) (*query, error) {
	q.order, q.limit, q.offset, q.percent, q.ties = nil, nil, nil, false, false
	if kind == CursorKeyset {
		q.core.where = nil
	}
	for _, t := range tables {
		same, err := distinctFrom(t.rowid, placeValue(t.At, types.BigIntType), true)
		if kind == CursorKeyset {
			same, err = t.sameKey()
		}
		if err != nil {
			return nil, err
		}
		q.core.where = and(q.core.where, same)
	}
	return q, nil
}

// sameKey returns the condition that a row of the table has the key of a place.
func (t *cursorTable) sameKey() (*node, error) {
	var all *node
	for i, n := range t.identity[:t.keys] {
		key := placeValue(t.At+1+i, n.typ)
		var same *node
		var err error
		if n.null {
			same, err = distinctFrom(n, key, true)
		} else {
			same, err = compare("=", n, key)
		}
		if err != nil {
			return nil, err
		}
		all = and(all, same)
	}
	return all, nil
}

// stepped limits a query to one row before or after a place, or at an end of the rows.
func (q *query) stepped(order []orderTerm, use CursorUse, tables []*cursorTable) (*query, error) {
	back := use.Step == CursorLast || use.Step == CursorPrior
	var terms []placeTerm
	for i, o := range order {
		terms = append(terms, placeTerm{o.n, i, o.desc != back})
	}
	for _, t := range tables {
		terms = append(terms, placeTerm{t.rowid, t.At, back})
	}
	if use.Step == CursorNext || use.Step == CursorPrior {
		after, err := partAfterPlace(terms, use.Part)
		if err != nil {
			return nil, err
		}
		q.core.where = and(q.core.where, after)
	}
	q.order = nil
	for _, t := range terms {
		q.order = append(q.order, orderTerm{t.n, t.desc})
	}
	q.limit = constant(int64(1), types.BigIntType)
	q.offset = &node{op: opRun, typ: types.BigIntType, traits: hasRun, run: func(r *Run) types.Value { return r.Skip }}
	return q, nil
}

// partAfterPlace returns the condition that a row of a part follows a place in the order of terms.
func partAfterPlace(terms []placeTerm, part CursorPart) (*node, error) {
	first := terms[0]
	switch part {
	case CursorAllNulls:
		return isNull(first.n), nil
	case CursorAllValues:
		return not(isNull(first.n)), nil
	case CursorNulls:
		rest, err := afterPlace(terms[1:])
		return and(isNull(first.n), rest), err
	case CursorValues:
		value := *first.n
		value.null = false // the comparisons exclude NULL
		return afterPlace(append([]placeTerm{{&value, first.at, first.desc}}, terms[1:]...))
	}
	return afterPlace(terms)
}

// afterPlace returns the condition that a row follows a place in the order of terms.
func afterPlace(terms []placeTerm) (*node, error) {
	t := terms[0]
	beyond, err := t.beyond()
	if err != nil || len(terms) == 1 {
		return beyond, err
	}
	same, err := distinctFrom(t.n, placeValue(t.at, t.n.typ), true)
	if err != nil {
		return nil, err
	}
	rest, err := afterPlace(terms[1:])
	if err != nil {
		return nil, err
	}
	either := build(opOr, types.BitType, beyond, and(same, rest))
	if t.n.null {
		return either, nil
	}
	// SQLite finds the first row by this condition, which the other one implies.
	bound, err := compare(t.operator()+"=", t.n, placeValue(t.at, t.n.typ))
	if err != nil {
		return nil, err
	}
	return and(bound, either), nil
}

// operator returns the comparison of a later row with an earlier one.
func (t placeTerm) operator() string {
	if t.desc {
		return "<"
	}
	return ">"
}

// beyond returns the condition that a row follows a place in the order of the term alone. NULL is
// less than all values.
func (t placeTerm) beyond() (*node, error) {
	place := placeValue(t.at, t.n.typ)
	beyond, err := compare(t.operator(), t.n, place)
	if err != nil || !t.n.null {
		return beyond, err
	}
	least, other := place, t.n
	if t.desc {
		least, other = t.n, place
	}
	return build(opOr, types.BitType, beyond, and(isNull(least), not(isNull(other)))), nil
}

// whereOf binds WHERE, or WHERE CURRENT OF a cursor.
func (m *modification) whereOf(d *DML, c syntax.Cond, cursor *syntax.CursorRef, checked bool) (*node, error) {
	if cursor != nil {
		return m.position(d, checked)
	}
	return m.where(c)
}

// position returns the condition of WHERE CURRENT OF and describes it in the plan. checked tells
// whether the row must be unchanged; otherwise only its key must be the same. Errors: 16962 for
// the rows of an INSTEAD OF trigger of a view.
func (m *modification) position(d *DML, checked bool) (*node, error) {
	if m.instead != nil && m.src.view != nil {
		return nil, mserr.NotUpdatableByCursor()
	}
	base, err := m.identified()
	if err != nil {
		return nil, err
	}
	p := &Position{ObjectID: m.table.ObjectID, DatabaseID: m.databaseID(), Checked: checked}
	if v := m.src.view; v != nil {
		p.ObjectID, p.DatabaseID = v.ObjectID, m.src.databaseID
	}
	var keys int
	p.Identity, keys = identityColumns(base)
	where, err := compare("=", m.rid, placeValue(0, types.BigIntType))
	if err != nil {
		return nil, err
	}
	for i, id := range p.Identity {
		if !checked && i >= keys {
			break
		}
		n, err := m.old(base.ColumnByID(id))
		if err != nil {
			return nil, err
		}
		where = and(where, sameValue(n, placeValue(1+i, n.typ)))
	}
	d.Position = p
	p.Read, err = m.readIdentity(base, p.Identity)
	return where, err
}

// identified returns the table whose rows are changed, with its indexes. That of an INSTEAD OF
// trigger has none.
func (m *modification) identified() (*catalog.Table, error) {
	if m.instead == nil {
		return m.table, nil
	}
	if t, ok := m.instead.Object.(*catalog.Table); ok {
		return t, nil
	}
	return nil, mserr.NotUpdatableByCursor()
}

// sameValue returns the condition that a column has exactly a value, whatever its collation.
func sameValue(n, value *node) *node {
	exact := types.BigIntType // SQLite compares by the values themselves
	column := build(opSQL, exact, n)
	column.name, column.traits = " COLLATE BINARY", column.traits|hasColumn
	same := build(opDistinct, types.BitType, column, value.retyped(exact))
	same.name, same.null = "IS", false
	return same
}

// noteRowID prepares the statement that returns the new rowid of the row of WHERE CURRENT OF, if a
// key that is the rowid is changed.
func (m *modification) noteRowID(d *DML, values []setting, where *node) error {
	i := slices.IndexFunc(values, func(v setting) bool { return v.c == m.table.RowIDColumn() })
	if d.Position == nil || i < 0 || values[i].n.traits&(hasPerRow|hasSequence) != 0 {
		return nil
	}
	q, err := m.rows(where, nil)
	if err != nil {
		return err
	}
	q.add(values[i].n, outColumn{typ: values[i].c.Type})
	r := &renderer{}
	r.query(q)
	d.Position.NewRowID, err = r.statement()
	return err
}

// readIdentity returns the statement that reads the identity of a row of a table by its rowid.
func (m *modification) readIdentity(t *catalog.Table, identity []int) (Statement, error) {
	src := &source{alias: m.b.alias("t"), base: t, table: m.sql()}
	m.b.tableColumns(src, m.db, t)
	row := baseCursorTable(src, false)
	same, err := compare("=", row.rowid, placeValue(0, types.BigIntType))
	if err != nil {
		return Statement{}, err
	}
	q := &query{core: &core{from: src, where: same}}
	q.add(row.rowid, outColumn{typ: types.BigIntType})
	for i := range identity {
		q.add(row.identity[i], outColumn{typ: row.identity[i].typ, null: true})
	}
	r := &renderer{}
	r.query(q)
	return r.statement()
}
