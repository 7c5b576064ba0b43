package dml

import (
	"slices"
	"strconv"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/bind"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/bind/names"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/expr"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/keys"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/lower"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/plan"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/store"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// builder compiles one statement that changes data.
type builder struct {
	*bind.Binder
	// instead is the INSTEAD OF trigger of the INSERT that is bound, or nil.
	instead *plan.Instead
	// checked is the view with WITH CHECK OPTION through which an INSERT goes, or nil.
	checked *tree.Source
}

// target is the table that a statement changes.
type target struct {
	db    *catalog.Database // nil for temporary tables
	table *catalog.Table
}

// databaseID returns the id of the target's database, 0 for temporary tables.
func (t target) databaseID() int {
	if t.db == nil {
		return 0
	}
	return t.db.ID
}

// sql returns SQLite's name of the table.
func (t target) sql() string {
	if t.db == nil {
		return store.LocalTable(t.table.SQLName)
	}
	return t.db.SQLName() + "." + store.Quote(t.table.SQLName)
}

// displayName returns the table's three-part name for messages.
func (t target) displayName() string {
	if t.db == nil {
		if strings.HasPrefix(t.table.Name, "@") {
			return t.table.Name
		}
		return "tempdb.dbo." + t.table.Name
	}
	return t.db.Name + "." + t.db.QualifiedName(t.table)
}

// shortName returns the table's name without its schema, for messages.
func (t target) shortName() string { return t.table.Name }

// newDML returns a plan with its target set.
func newDML(kind string, t target) *plan.DML {
	d := &plan.DML{Kind: kind, Database: t.databaseID(), Target: t.table}
	if slices.Contains(catalog.TriggerEvents, kind) {
		setActions(d, t, kind)
	}
	return d
}

// tableTarget resolves the target table of INSERT and OUTPUT INTO, for which it needs the
// permission INSERT. Error 208 for an unknown name; views are not supported.
func (b *builder) tableTarget(ts syntax.TableSource) (target, error) {
	switch ts := ts.(type) {
	case *syntax.TableVar:
		t := b.LocalTable(ts.Name)
		if t == nil {
			return target{}, mserr.UndeclaredTableVariable(ts.Name)
		}
		b.NeedLocal(t)
		return target{table: t}, nil
	case *syntax.TableName:
		if catalog.IsLocalTemp(ts.Name.Last()) {
			t := b.LocalTable(ts.Name.Last())
			if t == nil {
				return target{}, mserr.InvalidObject(ts.Name.String())
			}
			b.NeedLocal(t)
			return target{table: t}, nil
		}
		if b.Transition(ts.Name) != nil {
			return target{}, mserr.TransitionTarget()
		}
		db, o, err := b.Object(ts.Name)
		if err != nil {
			return target{}, err
		}
		switch o := o.(type) {
		case *catalog.Table:
			b.NeedPermission(db, o, "INSERT")
			b.NeedDatabase(db.ID)
			return target{db, o}, nil
		case *catalog.View:
			return target{}, mserr.NotSupported("INSERT into the view %s", o.Name)
		}
		if s, err := b.SystemSource(db, ts.Name); s != nil || err != nil {
			return target{}, mserr.SystemCatalogUpdate()
		}
		return target{}, mserr.InvalidObject(ts.Name.String())
	}
	return target{}, mserr.NotSupported("INSERT into this kind of table")
}

// storeValue converts a value for a column and adds the checks that SQLite lacks: the length of
// character and binary values, and NULL in the rowid, which SQLite would replace by a number.
func (b *builder) storeValue(t target, statement string, c *catalog.Column, n *tree.Node) (*tree.Node, error) {
	n, err := b.columnValue(t, c, n)
	if err != nil {
		return nil, err
	}
	return b.rowIDValue(t, statement, c, n)
}

// rowIDValue adds a check that the value of the rowid column is not NULL.
func (b *builder) rowIDValue(t target, statement string, c *catalog.Column, n *tree.Node) (*tree.Node, error) {
	if !n.Null || t.table.RowIDColumn() != c {
		return n, nil
	}
	return tree.Call(keys.Make(keys.NotNull, statement, keys.Text(t.displayName()), keys.Text(c.Name)), c.Type, n)
}

// valueOrDefault converts a value for a column with a default; NULL stands for the default.
func (b *builder) valueOrDefault(t target, statement string, c *catalog.Column, n *tree.Node) (*tree.Node, error) {
	n, err := b.columnValue(t, c, n)
	if err != nil {
		return nil, err
	}
	d, err := b.defaultValue(t, statement, c)
	if err != nil {
		return nil, err
	}
	r := tree.Build(tree.OpCoalesce, c.Type, n, d)
	r.Null = d.Null
	return b.rowIDValue(t, statement, c, r)
}

// columnValue converts a value for a column and checks the length of character and binary values.
func (b *builder) columnValue(t target, c *catalog.Column, n *tree.Node) (*tree.Node, error) {
	if n.Type.ID != types.Null {
		if err := types.CheckImplicit(n.Type, c.Type); err != nil {
			return nil, err
		}
	}
	n = b.Localized(n)
	err := expr.CheckCollation(n, c.Type)
	switch {
	case err != nil:
	case n.IsNullConst() || n.Type.ID == types.Null || expr.SameForm(n.Type, c.Type):
		n, err = expr.Convert(n, c.Type, types.NoStyle, false)
	case mayTruncate(n.Type, c.Type):
		if b.Scope.Truncates() || n.IsConst() && !types.Truncates(n.Value, n.Type, c.Type) {
			n, err = expr.Convert(n, c.Type, types.NoStyle, false)
			break
		}
		n, err = tree.Call(
			keys.Make(keys.Store, keys.TypeText(n.Type), keys.TypeText(c.Type), keys.Text(t.displayName()), keys.Text(c.Name)),
			c.Type,
			n,
		)
	default:
		n, err = expr.Convert(n, c.Type, types.NoStyle, false)
	}
	return n, err
}

// mayTruncate reports whether storing a value of one type in another may lose characters or bytes.
func mayTruncate(from, to types.Type) bool {
	return from.IsCharacter() && to.IsString() && to.Length != types.Max ||
		(from.IsBinary() || from.ID == types.Image) && to.IsBinary() && to.Length != types.Max
}

// defaultValue returns the default of a column, or NULL if the column has none. Identity and
// rowversion columns are filled by [insertion.row].
func (b *builder) defaultValue(t target, statement string, c *catalog.Column) (n *tree.Node, err error) {
	if c.Default == nil {
		return b.storeValue(t, statement, c, tree.NullOf(types.NullType))
	}
	e, err := c.Default.Memo.Get(
		func() (any, error) { return parser.ParseExpr(c.Default.Text, parser.DefaultOptions) },
	)
	if err != nil {
		return nil, err
	}
	p := b.Place
	if t.db != nil {
		p = b.ModuleScope(t.db, t.table)
	}
	err = b.Within(p, func() error {
		b.InDefault = true
		n, err = b.Expr(e.(syntax.Expr), nil)
		b.InDefault = false
		return err
	})
	if err != nil {
		return nil, err
	}
	return b.storeValue(t, statement, c, n)
}

// newRowVersion returns the new value of a rowversion column.
func newRowVersion(t target) *tree.Node {
	return &tree.Node{
		Op:     tree.OpLocal,
		Type:   types.Type{ID: types.RowVersion},
		Key:    keys.LocalRowVersion + strconv.Itoa(t.databaseID()),
		Traits: tree.HasLocal | tree.HasPerRow,
	}
}

// isStored reports whether SQLite stores a column that statements fill, which excludes computed
// columns.
func isStored(c *catalog.Column) bool { return c.Formula == nil }

// spool is the temporary table of a plan during compilation. Column i stores the value of exprs[i].
type spool struct {
	src   *tree.Source
	exprs []*tree.Node
}

// newSpool returns an empty spool.
func (b *builder) newSpool() *spool { return &spool{src: &tree.Source{Alias: b.Alias("s")}} }

// capture adds an expression to the spool and returns its column. An expression that is already in
// the spool is not added again.
func (s *spool) capture(n *tree.Node) *tree.Node {
	if n.Op == tree.OpConst || n.Op == tree.OpRun {
		return n
	}
	for i, e := range s.exprs {
		if tree.SameNode(e, n) && e.Type == n.Type && n.Traits&(tree.HasPerRow|tree.HasLocal) == 0 {
			return tree.ColumnNode(s.src, i)
		}
	}
	s.exprs = append(s.exprs, n)
	s.src.Columns = append(
		s.src.Columns,
		tree.SourceColumn{Type: n.Type, Null: n.Null, Label: n.Label, SQL: "s" + strconv.Itoa(len(s.exprs))},
	)
	return tree.ColumnNode(s.src, len(s.exprs)-1)
}

// captureColumns replaces the columns in an expression by columns of the spool.
func (s *spool) captureColumns(n *tree.Node) *tree.Node {
	return n.Replace(func(x *tree.Node) *tree.Node {
		if x.Op == tree.OpCol && x.Source != s.src {
			return s.capture(x)
		}
		return nil
	})
}

// rowNumber is the spool's column that numbers the rows from 1.
const rowNumber = "n"

// finish names the spool by its shape, so that statements share spools, and adds the statements
// that empty it.
func (s *spool) finish(b *builder, d *plan.DML) {
	name := "sp" + strconv.Itoa(b.Scope.FunctionDepth()) + "_" + strconv.Itoa(len(s.exprs))
	s.src.Table = store.LocalTable(name)
	ddl := "CREATE TABLE IF NOT EXISTS " + s.src.Table + "(" + rowNumber + " INTEGER PRIMARY KEY"
	for _, c := range s.src.Columns {
		ddl += ", " + c.SQL
	}
	d.Spool = &plan.Spool{Name: name, DDL: ddl + ")"}
	empty := plan.Statement{SQL: "DELETE FROM " + s.src.Table}
	d.Prepare = append([]plan.Statement{empty}, d.Prepare...)
	d.Finish = []plan.Statement{empty}
}

// into writes the INSERT INTO of the spool.
func (s *spool) into(r *lower.Renderer) {
	r.WriteString("INSERT INTO " + s.src.Table + "(")
	for i, c := range s.src.Columns {
		if i > 0 {
			r.WriteString(", ")
		}
		r.WriteString(c.SQL)
	}
	if len(s.src.Columns) == 0 {
		r.WriteString(rowNumber)
	}
	r.WriteString(") ")
}

// fill returns the statement that fills the spool from the rows of q; the select list is the
// spool's expressions. With once, of several rows with the same first column only one is inserted.
func (s *spool) fill(q *tree.Query, once bool) (plan.Statement, error) {
	r := &lower.Renderer{}
	s.into(r)
	c := *q.Core
	c.Items = append([]*tree.Node(nil), s.exprs...)
	if len(c.Items) == 0 {
		c.Items = []*tree.Node{tree.NullOf(types.IntType)}
	}
	f := *q
	f.Core = &c
	if !once {
		r.Query(&f)
		return r.Statement()
	}
	r.WriteString("SELECT ")
	for i := range c.Items {
		if i > 0 {
			r.WriteString(", ")
		}
		r.WriteString(tree.ColumnName(i))
	}
	r.WriteString(" FROM (")
	r.Query(&f)
	r.WriteString(") GROUP BY c1")
	return r.Statement()
}

// pseudo returns the table inserted or deleted. value returns the node of a column, or nil for
// NULL.
func (b *builder) pseudo(name string, t target, value func(c *catalog.Column) (*tree.Node, error)) *tree.Source {
	src := &tree.Source{Name: name, Names: t.table.Names()}
	for _, c := range t.table.Columns {
		sc := tree.SourceColumn{Name: c.Name, Type: c.Type, Null: c.Nullable, Label: tree.LabelImplicit, Base: c}
		sc.Expand = func() (*tree.Node, error) {
			if c.Formula != nil {
				return b.Formula(t.db, t.table, c, src)
			}
			n, err := value(c)
			if n == nil && err == nil {
				n = tree.NullOf(c.Type)
			}
			if err != nil {
				return nil, err
			}
			r := *n
			if r.Type.IsCharacter() {
				r.Label = tree.LabelImplicit
			}
			return &r, nil
		}
		src.Columns = append(src.Columns, sc)
	}
	return src
}

// output binds the OUTPUT clauses of a statement over its spool, and captures the columns of
// sources other than inserted and deleted. It must be called before the spool is finished;
// [outputs.emit] writes the statements afterwards.
func (b *builder) output(into, client *syntax.Output, l *names.Level, s *spool) (*outputs, error) {
	o := &outputs{spool: s}
	for _, clause := range []*syntax.Output{into, client} {
		if clause == nil {
			continue
		}
		q, err := b.outputQuery(clause, l)
		if err != nil {
			return nil, err
		}
		q.Core.From = s.src
		for i, n := range q.Core.Items {
			q.Core.Items[i] = s.captureColumns(n)
		}
		q.Order = []tree.OrderTerm{{Node: s.number()}}
		if clause == into {
			o.into, o.clause = q, into
		} else {
			o.client = q
		}
	}
	return o, nil
}

// outputQuery binds the items of an OUTPUT clause. Error 10702 for subqueries.
func (b *builder) outputQuery(clause *syntax.Output, l *names.Level) (*tree.Query, error) {
	q := &tree.Query{Core: &tree.Core{}}
	inner := &names.Level{Sources: l.Sources, Agg: &names.Aggregation{Refusal: mserr.AggregateInOutput()}}
	for _, item := range clause.Items {
		if err := b.CheckItems(q); err != nil {
			return nil, err
		}
		var err error
		switch item := item.(type) {
		case *syntax.SelectStar:
			err = b.Star(item, q, inner)
		case *syntax.SelectExpr:
			var n *tree.Node
			if n, err = b.Expr(item.X, inner); err == nil {
				q.Add(n, tree.ResultColumn{Name: bind.ItemName(item), Type: n.Type, Null: n.Null, Loose: n.Loose, Label: n.Label})
			}
		default:
			err = mserr.Syntax("=")
		}
		if err != nil {
			return nil, err
		}
	}
	for _, n := range q.Core.Items {
		if n.Traits&tree.HasSubquery != 0 {
			return nil, mserr.Of(10702)
		}
	}
	return q, nil
}

// number returns the node of the spool's row number.
func (s *spool) number() *tree.Node {
	return &tree.Node{
		Op:     tree.OpCol,
		Type:   types.BigIntType,
		Source: &tree.Source{Alias: s.src.Alias, Columns: []tree.SourceColumn{{SQL: rowNumber, Type: types.BigIntType}}},
		Traits: tree.HasColumn,
	}
}

// outputs are bound OUTPUT clauses.
type outputs struct {
	spool        *spool
	into, client *tree.Query
	clause       *syntax.Output
}

// emit adds the statements of OUTPUT to a plan whose spool is finished.
func (o *outputs) emit(b *builder, d *plan.DML) error {
	if o.into != nil {
		t, err := b.tableTarget(o.clause.Into)
		if err != nil {
			return err
		}
		if err := t.checkOutputInto(); err != nil {
			return err
		}
		d.Into, d.IntoDatabase = t.table, t.databaseID()
		st, need, err := o.insert(b, t)
		if err != nil {
			return err
		}
		d.IntoIdentity, d.IntoStep = need, len(d.Apply)
		d.Apply = append(d.Apply, st)
	}
	if o.client != nil {
		p := &plan.Plan{Columns: o.client.ColumnTypes()}
		if err := lower.Plan(p, b.Needs, o.client); err != nil {
			return err
		}
		d.Output = p
	}
	return nil
}

// checkOutputInto refuses targets of OUTPUT INTO with CHECK or foreign key constraints. Errors:
// 332, 333.
func (t target) checkOutputInto() error {
	for _, k := range t.table.Checks {
		if !k.Disabled {
			return mserr.OutputIntoChecked(t.table.Name, k.Name)
		}
	}
	for _, f := range t.table.ForeignKeys {
		return mserr.OutputIntoReferenced(t.table.Name, f.Name)
	}
	if t.db == nil {
		return nil
	}
	for _, other := range t.db.Tables() {
		for _, f := range other.ForeignKeys {
			if f.Referenced == t.table.ObjectID {
				return mserr.OutputIntoReferenced(t.table.Name, f.Name)
			}
		}
	}
	return nil
}

// insert returns the statement that inserts the rows of OUTPUT INTO into its target, and its need
// of identity values, if any.
func (o *outputs) insert(b *builder, t target) (plan.Statement, *plan.IdentityNeed, error) {
	q, names := o.into, o.clause.IntoColumns
	ins, err := b.insertColumns(t, names, len(q.Columns))
	if err != nil {
		return plan.Statement{}, nil, err
	}
	if err := ins.check(names != nil, len(q.Columns)); err != nil {
		return plan.Statement{}, nil, err
	}
	var need *plan.IdentityNeed
	var identity *tree.Node
	if ins.generates() {
		need = &plan.IdentityNeed{Column: ins.identity, Identity: *ins.identity.Auto, Rows: -1}
		number := "row_number() OVER (ORDER BY " + o.spool.src.Alias + "." + rowNumber + ")"
		if identity, err = ins.identityFrom(number, func(r *tree.Run) types.Value { return r.IntoIdentity }); err != nil {
			return plan.Statement{}, nil, err
		}
	}
	row, err := ins.row(b, "INSERT", q.Core.Items, identity)
	if err != nil {
		return plan.Statement{}, nil, err
	}
	r := &lower.Renderer{}
	ins.head(r)
	c := *q.Core
	c.Items = row
	r.Query(&tree.Query{Core: &c, Order: q.Order})
	st, err := r.Statement()
	return st, need, err
}
