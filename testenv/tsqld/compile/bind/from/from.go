package from

import (
	"slices"
	"strconv"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/catalog/sysviews"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/bind/names"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/bind/scalar"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/expr"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/plan"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/store"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// Binder binds FROM clauses: tables, views, derived tables, functions of rows and joins.
type Binder struct {
	scalar.Binder
	// MaxRecursion is the limit of OPTION (MAXRECURSION n); 0 means no limit.
	MaxRecursion int
}

// From binds a FROM clause and adds its sources to the level. It returns nil for no FROM clause.
func (b *Binder) From(list []syntax.TableSource, l *names.Level) (tree.From, error) {
	var all tree.From
	for _, ts := range list {
		if err := b.Charge(); err != nil {
			return nil, err
		}
		f, err := b.TableSource(ts, l, l.Parent)
		if err != nil {
			return nil, err
		}
		all = Cross(all, f)
	}
	return all, nil
}

// Cross joins two items of FROM without a condition. Either may be nil.
func Cross(x, y tree.From) tree.From {
	switch {
	case x == nil:
		return y
	case y == nil:
		return x
	}
	return &tree.Join{Kind: "JOIN", Left: x, Right: y}
}

// TableSource binds an item of FROM and adds its sources to l. Subqueries and arguments in the item
// are resolved in outer: the enclosing query, and for APPLY the items to the left.
func (b *Binder) TableSource(ts syntax.TableSource, l, outer *names.Level) (tree.From, error) {
	switch ts := ts.(type) {
	case *syntax.TableName:
		src, err := b.TableName(ts)
		if err != nil {
			return nil, err
		}
		return src, l.Expose(src, ts.Alias.Name != "")
	case *syntax.TableVar:
		src, err := b.TableVar(ts)
		if err != nil {
			return nil, err
		}
		return src, l.Expose(src, ts.Alias.Name != "")
	case *syntax.DerivedTable:
		q, err := b.Queries.Query(ts.Query, outer, scalar.QueryUse{})
		if err != nil {
			return nil, err
		}
		if q, err = b.NameColumns(q, ts.Alias.Name, ts.Columns); err != nil {
			return nil, err
		}
		src := q.Source(b.Alias("q"), ts.Alias.Name)
		src.Lineage = q.Core
		src.Names = b.Names()
		return src, l.Expose(src, true)
	case *syntax.ValuesTable:
		q, err := b.values(ts.Rows, outer)
		if err != nil {
			return nil, err
		}
		if q, err = b.NameColumns(q, ts.Alias.Name, ts.Columns); err != nil {
			return nil, err
		}
		src := q.Source(b.Alias("q"), ts.Alias.Name)
		src.Names = b.Names()
		return src, l.Expose(src, true)
	case *syntax.TableFunc:
		src, err := b.tableFunc(ts, outer)
		if err != nil {
			return nil, err
		}
		src.Names = b.Names()
		return src, l.Expose(src, ts.Alias.Name != "")
	case *syntax.MethodTable:
		src, err := b.NodesSource(ts.Call, ts.Alias, ts.Columns, outer)
		if err != nil {
			return nil, err
		}
		src.Names = b.Names()
		return src, l.Expose(src, true)
	case *syntax.OpenJSON:
		src, err := b.openJSON(ts, outer)
		if err != nil {
			return nil, err
		}
		src.Names = b.Names()
		return src, l.Expose(src, ts.Alias.Name != "")
	case *syntax.ParenTable:
		return b.TableSource(ts.X, l, outer)
	case *syntax.Join:
		return b.bindJoin(ts, l, outer)
	case *syntax.Pivot:
		return b.pivot(ts, l, outer)
	case *syntax.Unpivot:
		return b.unpivot(ts, l, outer)
	}
	return nil, mserr.NotSupported("this kind of table source (%T)", ts)
}

// NameColumns sets the column names of a derived table. Errors: 8155 unnamed column, 8156 duplicate
// name, 8158 and 8159 wrong number of names.
func (b *Binder) NameColumns(q *tree.Query, alias string, names []syntax.Ident) (*tree.Query, error) {
	r := *q
	r.Columns = append([]tree.ResultColumn(nil), q.Columns...)
	switch {
	case names == nil:
	case len(names) < len(r.Columns):
		return nil, mserr.MoreColumnsThanListed(alias)
	case len(names) > len(r.Columns):
		return nil, mserr.FewerColumnsThanListed(alias)
	}
	seen := map[string]bool{}
	for i := range r.Columns {
		if names != nil {
			r.Columns[i].Name = names[i].Name
		}
		name := r.Columns[i].Name
		if name == "" {
			return nil, mserr.UnnamedColumn(i+1, alias)
		}
		if seen[b.Names().Fold(name)] {
			return nil, mserr.DuplicateColumnOf(name, alias)
		}
		seen[b.Names().Fold(name)] = true
	}
	return &r, nil
}

// lockHints are the table hints that request locks.
var lockHints = map[string]bool{
	"UPDLOCK":        true,
	"XLOCK":          true,
	"TABLOCKX":       true,
	"HOLDLOCK":       true,
	"SERIALIZABLE":   true,
	"REPEATABLEREAD": true,
}

// TableName binds a name in FROM: a common table expression, table, view or system view. Error 208.
func (b *Binder) TableName(ts *syntax.TableName) (*tree.Source, error) {
	name := ts.Name
	var src *tree.Source
	var err error
	if c := b.Place.CTEs.Find(name); c != nil {
		if src, err = b.cte(c); err == nil {
			src.Names = b.Names()
		}
	} else {
		src, err = b.objectSource(name)
	}
	if err != nil {
		return nil, err
	}
	past := slices.ContainsFunc(ts.Hints, func(h *syntax.TableHint) bool { return h.Name == "READPAST" })
	if past {
		b.readPast(src, claimOf(ts.Hints))
	}
	for _, h := range ts.Hints {
		if lockHints[h.Name] {
			b.NoteLock(past)
			b.Needs.RangeLocks = b.Needs.RangeLocks || claims[h.Name] == ""
		}
		if err := b.indexHint(h, src); err != nil {
			return nil, err
		}
	}
	if ts.Alias.Name != "" {
		src.Name, src.Schema, src.DB = ts.Alias.Name, "", ""
	}
	return src, nil
}

// indexHint checks that the indexes of INDEX(...) exist; otherwise the hint is ignored, because
// SQLite chooses its indexes. Error 308.
func (b *Binder) indexHint(h *syntax.TableHint, src *tree.Source) error {
	if h.Name != "INDEX" || src.Base == nil {
		return nil
	}
	for _, a := range h.Args {
		if c, ok := a.(*syntax.ColumnRef); ok && src.Base.Index(c.Column()) == nil {
			return mserr.UnknownIndexHint(c.Column(), src.Schema+"."+src.Base.Name)
		}
	}
	return nil
}

// TableVar binds a table variable. Error 1087 for an undeclared one.
func (b *Binder) TableVar(ts *syntax.TableVar) (*tree.Source, error) {
	t := b.LocalTable(ts.Name)
	if t == nil {
		return nil, mserr.UndeclaredTableVariable(ts.Name)
	}
	src := b.tableOf(nil, t)
	src.Name = ts.Name
	if ts.Alias.Name != "" {
		src.Name = ts.Alias.Name
	}
	return src, nil
}

// objectSource binds the name of a table, view or system view as a source. Errors: 208 for an
// unknown name, 216 for a table-valued function without parentheses.
func (b *Binder) objectSource(name *syntax.ObjectName) (*tree.Source, error) {
	if catalog.IsLocalTemp(name.Last()) {
		t := b.LocalTable(name.Last())
		if t == nil {
			return nil, mserr.InvalidObject(name.String())
		}
		src := b.tableOf(nil, t)
		src.Name, src.ClientName = name.Last(), []string{name.Last()}
		return src, nil
	}
	if t := b.Transition(name); t != nil {
		return b.transitionSource(t), nil
	}
	if catalog.IsGlobalTemp(name.Last()) && (b.Place.Owner >= 0 || b.Place.System) {
		return nil, mserr.InvalidObject(name.String()) // as for other temporary tables
	}
	db, o, err := b.Object(name)
	if err != nil {
		return nil, err
	}
	switch o := o.(type) {
	case *catalog.Table:
		b.NeedPermission(db, o, "SELECT")
		src := b.tableOf(db, o)
		src.ClientName = b.ClientName(name, src)
		return src, nil
	case *catalog.View:
		b.NeedPermission(db, o, "SELECT")
		return b.View(db, o)
	case *catalog.Function:
		if o.Kind != catalog.KindScalarFunction {
			return nil, mserr.NoFunctionArguments(name.String())
		}
	case nil:
		src, err := b.SystemSource(db, name)
		if src != nil || err != nil {
			return src, err
		}
		if sysviews.IsUnsupported(name.Schema(), name.Last()) {
			return nil, mserr.NotSupported("%s", name.String())
		}
	}
	return nil, mserr.InvalidObject(name.String())
}

// tableOf returns the source of a table. db is nil for temporary tables.
func (b *Binder) tableOf(db *catalog.Database, t *catalog.Table) *tree.Source {
	src := &tree.Source{Alias: b.Alias("t"), Name: t.Name, Base: t, Names: t.Names()}
	b.Needs.Tables = true
	if db == nil {
		src.Table = store.LocalTable(t.SQLName)
		b.NeedLocal(t)
	} else {
		src.DB, src.DatabaseID = db.Name, db.ID
		if s := db.SchemaByID(t.SchemaID); s != nil {
			src.Schema = s.Name
		}
		src.Table = db.SQLName() + "." + store.Quote(t.SQLName)
		b.NeedDatabase(db.ID)
	}
	b.TableColumns(src, db, t)
	return src
}

// TableColumns adds the columns of a table to its source.
func (b *Binder) TableColumns(src *tree.Source, db *catalog.Database, t *catalog.Table) {
	src.Columns = make([]tree.SourceColumn, len(t.Columns))
	for i, c := range t.Columns {
		src.Columns[i] = tree.SourceColumn{
			Name:  c.Name,
			Type:  c.Type,
			Null:  c.Nullable,
			Label: tree.LabelImplicit,
			SQL:   c.SQLName,
			Base:  c,
			Owner: src,
		}
		if c.SQLName == "" {
			src.Columns[i].Expand = func() (*tree.Node, error) { return b.Formula(db, t, c, src) }
		}
	}
}

// Formula binds the expression of a computed column over the source of its table.
func (b *Binder) Formula(db *catalog.Database, t *catalog.Table, c *catalog.Column, src *tree.Source) (n *tree.Node, err error) {
	e, err := c.Formula.Memo.Get(
		func() (any, error) { return parser.ParseExpr(c.Formula.Text, parser.DefaultOptions) },
	)
	if err != nil {
		return nil, err
	}
	p := b.Place
	if db != nil {
		p = b.ModuleScope(db, t)
	}
	err = b.Within(p, func() error {
		if n, err = b.Expr(e.(syntax.Expr), &names.Level{Sources: []*tree.Source{src}}); err != nil {
			return err
		}
		n, err = expr.ConvertImplicit(n, c.Type)
		return err
	})
	return n, err
}

// SystemSource binds a system table or view. It returns nil if there is none of that name.
func (b *Binder) SystemSource(db *catalog.Database, name *syntax.ObjectName) (*tree.Source, error) {
	schema := sysviews.SystemSchema(db, name.Schema(), name.Last())
	if schema == "" && b.Place.System {
		schema = "sys"
	}
	if schema == "" {
		return nil, nil
	}
	if t := sysviews.FindSystemTable(schema, name.Last()); t != nil {
		return b.systemTable(db, t), nil
	}
	v := sysviews.FindSystemView(schema, name.Last())
	if v == nil {
		return nil, nil
	}
	return b.SystemView(db, v)
}

// SystemView expands a system view that is written in T-SQL.
func (b *Binder) SystemView(db *catalog.Database, v *sysviews.SystemView) (*tree.Source, error) {
	parsed, err := v.Memo.Get(func() (any, error) { return parseView(v.Text, true) })
	if err != nil {
		return nil, err
	}
	return b.ExpandView(
		parsed.(*syntax.CreateViewStmt),
		v.Name,
		v.Schema,
		db.Name,
		names.Place{DB: db, Schemas: []string{"sys"}, Owner: 0, System: true},
	)
}

// systemTable returns the source of a row set of the server.
func (b *Binder) systemTable(db *catalog.Database, t *sysviews.SystemTable) *tree.Source {
	src := &tree.Source{Alias: b.Alias("t"), Name: t.Name, Schema: t.Schema, DB: db.Name}
	b.Needs.Tables = true
	if t.Empty() {
		src.Table = emptyTableSQL(t)
	} else {
		temp := "sys_" + strconv.Itoa(db.ID) + "_" + catalog.Fold(t.Schema+"_"+t.Name)
		if !slices.ContainsFunc(b.Needs.System, func(s plan.SystemRef) bool { return s.Temp == temp }) {
			b.Needs.System = append(b.Needs.System, plan.SystemRef{DatabaseID: db.ID, Table: t, Temp: temp})
		}
		src.Table = store.LocalTable(temp)
	}
	for i, c := range t.Columns {
		ct := c.Type
		if ct.IsUnicode() { // names have the collation of the database
			ct.Collation = db.Collation()
		}
		src.Columns = append(
			src.Columns,
			tree.SourceColumn{Name: c.Name, Type: ct, Null: c.Nullable, Label: tree.LabelImplicit, SQL: tree.ColumnName(i)},
		)
	}
	return src
}

// emptyTableSQL returns a query in place of a system table that is always empty, which saves
// creating a temporary table.
func emptyTableSQL(t *sysviews.SystemTable) string {
	var w strings.Builder
	w.WriteString("(SELECT ")
	for i, c := range t.Columns {
		if i > 0 {
			w.WriteString(", ")
		}
		w.WriteString("CAST(NULL AS " + c.Type.Storage() + ")")
		if n := c.Type.CollationName(); n != "" {
			w.WriteString(" COLLATE " + n)
		}
		w.WriteString(" AS " + tree.ColumnName(i))
	}
	w.WriteString(" WHERE 0)")
	return w.String()
}

// View expands a view of a database.
func (b *Binder) View(db *catalog.Database, v *catalog.View) (*tree.Source, error) {
	parsed, err := v.Memo.Get(func() (any, error) { return parseView(v.Text, v.QuotedIdentifier) })
	if err != nil {
		return nil, err
	}
	schema := ""
	if s := db.SchemaByID(v.SchemaID); s != nil {
		schema = s.Name
	}
	src, err := b.ExpandView(parsed.(*syntax.CreateViewStmt), v.Name, schema, db.Name, b.ModuleScope(db, v))
	if err != nil {
		return nil, err
	}
	switch visible := visibleColumns(src); {
	case visible > len(v.Columns) && len(v.Columns) > 0:
		// A SELECT * of the view returns more columns than when the view was created, because its
		// table was altered since. The new columns are hidden.
		n := 0
		for i := range src.Columns {
			if src.Columns[i].Hidden {
				continue
			}
			if n++; n > len(v.Columns) {
				src.Columns[i].Hidden = true
			}
		}
	case visible < len(v.Columns):
		return nil, mserr.ViewMoreColumns(v.Name)
	}
	src.View, src.DatabaseID, src.Names = v, db.ID, db.Names()
	return src, nil
}

// visibleColumns counts the columns that are not hidden.
func visibleColumns(src *tree.Source) int {
	n := 0
	for _, c := range src.Columns {
		if !c.Hidden {
			n++
		}
	}
	return n
}

// ExpandView binds the query of a view as a derived table.
func (b *Binder) ExpandView(st *syntax.CreateViewStmt, name, schema, db string, p names.Place) (src *tree.Source, err error) {
	err = b.Within(p, func() error {
		q, err := b.Queries.Query(st.Query, nil, scalar.QueryUse{Ordered: true})
		if err != nil {
			return err
		}
		if q, err = b.NameColumns(q, name, st.Columns); err != nil {
			return err
		}
		if src, err = expr.Rows(q, b.Alias("q"), name); err == nil {
			src.Schema, src.DB, src.Lineage = schema, db, q.Core
		}
		return err
	})
	return src, err
}

// parseView parses the text of a CREATE VIEW.
func parseView(text string, quoted bool) (*syntax.CreateViewStmt, error) {
	return parseModule[*syntax.CreateViewStmt](text, quoted)
}

// parseModule parses the text of a module. T is the type of its statement.
func parseModule[T syntax.Stmt](text string, quoted bool) (T, error) {
	var none T
	batch, err := parser.Parse(text, parser.Options{QuotedIdentifier: quoted})
	if err != nil {
		return none, err
	}
	for _, st := range batch.Stmts {
		if v, ok := st.(T); ok {
			return v, nil
		}
	}
	return none, mserr.NotSupported("a module whose text has no definition")
}

// values binds a table value constructor. Error 10709 for rows of different lengths.
func (b *Binder) values(rows [][]syntax.Expr, outer *names.Level) (*tree.Query, error) {
	var bound [][]*tree.Node
	for _, row := range rows {
		if len(row) != len(rows[0]) {
			return nil, mserr.RowConstructorCount()
		}
		ns, err := b.Exprs(row, &names.Level{Parent: outer})
		if err != nil {
			return nil, err
		}
		bound = append(bound, ns)
	}
	return expr.ValuesQuery(bound)
}

// joinWords maps joins to SQLite's keywords. A cross join is written as JOIN, because SQLite's
// CROSS JOIN fixes the order of the tables.
var joinWords = map[syntax.JoinKind]string{
	syntax.InnerJoin: "JOIN",
	syntax.CrossJoin: "JOIN",
	syntax.LeftJoin:  "LEFT JOIN",
	syntax.RightJoin: "RIGHT JOIN",
	syntax.FullJoin:  "FULL JOIN",
}

// bindJoin binds a join.
func (b *Binder) bindJoin(ts *syntax.Join, l, outer *names.Level) (tree.From, error) {
	start := len(l.Sources)
	left, err := b.TableSource(ts.Left, l, outer)
	if err != nil {
		return nil, err
	}
	middle := len(l.Sources)
	if ts.Kind == syntax.CrossApply || ts.Kind == syntax.OuterApply {
		return b.apply(ts, left, l, start, middle)
	}
	right, err := b.TableSource(ts.Right, l, outer)
	if err != nil {
		return nil, err
	}
	j := &tree.Join{Kind: joinWords[ts.Kind], Left: left, Right: right}
	if ts.On != nil {
		// The condition may only name the joined sources.
		on := &names.Level{Parent: l.Parent, Sources: l.Sources[start:], Agg: &names.Aggregation{Refusal: mserr.AggregateInOn()}}
		if j.On, err = b.Cond(ts.On, on); err != nil {
			return nil, err
		}
	}
	if left == nil || right == nil { // a side without a SQLite table: see apply
		if j.Kind == "JOIN" && j.On == nil {
			return Cross(left, right), nil
		}
		return &tree.Join{Kind: j.Kind, Left: orOneRow(left), Right: orOneRow(right), On: j.On}, nil
	}
	for i, src := range l.Sources[start:] {
		nullable := j.Kind == "FULL JOIN" || j.Kind == "LEFT JOIN" && i >= middle-start ||
			j.Kind == "RIGHT JOIN" && i < middle-start
		if nullable {
			src.AllowNull()
		}
	}
	return j, nil
}

// orOneRow returns f, or for nil a source of one row without columns.
func orOneRow(f tree.From) tree.From {
	if f != nil {
		return f
	}
	return &tree.Source{
		Alias: "one",
		Query: &tree.Query{
			Core:    &tree.Core{Items: []*tree.Node{tree.Constant(int64(1), types.IntType)}},
			Columns: []tree.ResultColumn{{Type: types.IntType}},
		},
	}
}
