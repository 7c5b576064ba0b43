package compile

import (
	"slices"
	"strconv"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/keys"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/store"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// builder compiles one statement that changes data.
type builder struct {
	*binder
	// instead is the INSTEAD OF trigger of the INSERT that is bound, or nil.
	instead *Instead
	// checked is the view with WITH CHECK OPTION through which an INSERT goes, or nil.
	checked *source
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
		return "temp." + store.Quote(t.table.SQLName)
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
func newDML(kind string, t target) *DML {
	d := &DML{Kind: kind, Database: t.databaseID(), Target: t.table}
	if slices.Contains(catalog.TriggerEvents, kind) {
		d.setActions(t, kind)
	}
	return d
}

// tableTarget resolves the target table of INSERT, OUTPUT INTO and TRUNCATE TABLE. Error 208 for an
// unknown name; views are not supported.
func (b *builder) tableTarget(ts syntax.TableSource, permission string) (target, error) {
	switch ts := ts.(type) {
	case *syntax.TableVar:
		t := b.localTable(ts.Name)
		if t == nil {
			return target{}, mserr.UndeclaredTableVariable(ts.Name)
		}
		b.needLocal(t)
		return target{table: t}, nil
	case *syntax.TableName:
		if catalog.IsLocalTemp(ts.Name.Last()) {
			t := b.localTable(ts.Name.Last())
			if t == nil {
				return target{}, mserr.InvalidObject(ts.Name.String())
			}
			b.needLocal(t)
			return target{table: t}, nil
		}
		if b.transition(ts.Name) != nil {
			return target{}, mserr.TransitionTarget()
		}
		db, o, err := b.object(ts.Name)
		if err != nil {
			return target{}, err
		}
		switch o := o.(type) {
		case *catalog.Table:
			b.needPermission(db, o, permission)
			b.needDatabase(db.ID)
			return target{db, o}, nil
		case *catalog.View:
			return target{}, mserr.NotSupported("%s into the view %s", permission, o.Name)
		}
		if s, err := b.systemSource(db, ts.Name); s != nil || err != nil {
			return target{}, mserr.SystemCatalogUpdate()
		}
		return target{}, mserr.InvalidObject(ts.Name.String())
	}
	return target{}, mserr.NotSupported("%s into this kind of table", permission)
}

// storeValue converts a value for a column and adds the checks that SQLite lacks: the length of
// character and binary values, and NULL in the rowid, which SQLite would replace by a number.
func (b *builder) storeValue(t target, statement string, c *catalog.Column, n *node) (*node, error) {
	n, err := b.columnValue(t, c, n)
	if err != nil {
		return nil, err
	}
	return b.rowIDValue(t, statement, c, n)
}

// rowIDValue adds a check that the value of the rowid column is not NULL.
func (b *builder) rowIDValue(t target, statement string, c *catalog.Column, n *node) (*node, error) {
	if !n.null || t.table.RowIDColumn() != c {
		return n, nil
	}
	return call(keys.Make(keys.NotNull, statement, keys.Text(t.displayName()), keys.Text(c.Name)), c.Type, n)
}

// valueOrDefault converts a value for a column with a default; NULL stands for the default.
func (b *builder) valueOrDefault(t target, statement string, c *catalog.Column, n *node) (*node, error) {
	n, err := b.columnValue(t, c, n)
	if err != nil {
		return nil, err
	}
	d, err := b.defaultValue(t, statement, c)
	if err != nil {
		return nil, err
	}
	r := build(opCoalesce, c.Type, n, d)
	r.null = d.null
	return b.rowIDValue(t, statement, c, r)
}

// columnValue converts a value for a column and checks the length of character and binary values.
func (b *builder) columnValue(t target, c *catalog.Column, n *node) (*node, error) {
	if n.typ.ID != types.Null {
		if err := types.CheckImplicit(n.typ, c.Type); err != nil {
			return nil, err
		}
	}
	n = b.localized(n)
	err := checkCollation(n, c.Type)
	switch {
	case err != nil:
	case n.isNullConst() || n.typ.ID == types.Null || sameForm(n.typ, c.Type):
		n, err = convert(n, c.Type, types.NoStyle, false)
	case mayTruncate(n.typ, c.Type):
		if b.scope.Truncates() || n.isConst() && !types.Truncates(n.val, n.typ, c.Type) {
			n, err = convert(n, c.Type, types.NoStyle, false)
			break
		}
		n, err = call(
			keys.Make(keys.Store, keys.TypeText(n.typ), keys.TypeText(c.Type), keys.Text(t.displayName()), keys.Text(c.Name)),
			c.Type,
			n,
		)
	default:
		n, err = convert(n, c.Type, types.NoStyle, false)
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
func (b *builder) defaultValue(t target, statement string, c *catalog.Column) (n *node, err error) {
	if c.Default == nil {
		return b.storeValue(t, statement, c, nullOf(types.NullType))
	}
	e, err := c.Default.Memo.Get(
		func() (any, error) { return syntax.ParseExpr(c.Default.Text, syntax.DefaultOptions) },
	)
	if err != nil {
		return nil, err
	}
	p := b.place
	if t.db != nil {
		p = b.moduleScope(t.db, t.table)
	}
	err = b.within(p, func() error {
		b.inDefault = true
		n, err = b.expr(e.(syntax.Expr), nil)
		b.inDefault = false
		return err
	})
	if err != nil {
		return nil, err
	}
	return b.storeValue(t, statement, c, n)
}

// newRowVersion returns the new value of a rowversion column.
func newRowVersion(t target) *node {
	return &node{
		op:     opLocal,
		typ:    types.Type{ID: types.RowVersion},
		key:    keys.LocalRowVersion + strconv.Itoa(t.databaseID()),
		traits: hasLocal | hasPerRow,
	}
}

// isStored reports whether SQLite stores a column that statements fill, which excludes computed
// columns.
func isStored(c *catalog.Column) bool { return c.Formula == nil }

// spool is the temporary table of a plan during compilation. Column i stores the value of exprs[i].
type spool struct {
	src   *source
	exprs []*node
}

// newSpool returns an empty spool.
func (b *builder) newSpool() *spool { return &spool{src: &source{alias: b.alias("s")}} }

// capture adds an expression to the spool and returns its column. An expression that is already in
// the spool is not added again.
func (s *spool) capture(n *node) *node {
	if n.op == opConst || n.op == opRun {
		return n
	}
	for i, e := range s.exprs {
		if sameNode(e, n) && e.typ == n.typ && n.traits&(hasPerRow|hasLocal) == 0 {
			return columnNode(s.src, i)
		}
	}
	s.exprs = append(s.exprs, n)
	s.src.cols = append(
		s.src.cols,
		sourceColumn{typ: n.typ, null: n.null, label: n.label, sql: "s" + strconv.Itoa(len(s.exprs))},
	)
	return columnNode(s.src, len(s.exprs)-1)
}

// captureColumns replaces the columns in an expression by columns of the spool.
func (s *spool) captureColumns(n *node) *node {
	return n.replace(func(x *node) *node {
		if x.op == opCol && x.src != s.src {
			return s.capture(x)
		}
		return nil
	})
}

// rowNumber is the spool's column that numbers the rows from 1.
const rowNumber = "n"

// finish names the spool by its shape, so that statements share spools, and adds the statements
// that empty it.
func (s *spool) finish(b *builder, d *DML) {
	name := "sp" + strconv.Itoa(b.scope.FunctionDepth()) + "_" + strconv.Itoa(len(s.exprs))
	s.src.table = "temp." + name
	ddl := "CREATE TEMP TABLE IF NOT EXISTS " + name + "(" + rowNumber + " INTEGER PRIMARY KEY"
	for _, c := range s.src.cols {
		ddl += ", " + c.sql
	}
	d.Spool = &Spool{Name: name, DDL: ddl + ")"}
	empty := Statement{SQL: "DELETE FROM " + s.src.table}
	d.Prepare = append([]Statement{empty}, d.Prepare...)
	d.Finish = []Statement{empty}
}

// into writes the INSERT INTO of the spool.
func (s *spool) into(r *renderer) {
	r.WriteString("INSERT INTO " + s.src.table + "(")
	for i, c := range s.src.cols {
		if i > 0 {
			r.WriteString(", ")
		}
		r.WriteString(c.sql)
	}
	if len(s.src.cols) == 0 {
		r.WriteString(rowNumber)
	}
	r.WriteString(") ")
}

// fill returns the statement that fills the spool from the rows of q; the select list is the
// spool's expressions. With once, of several rows with the same first column only one is inserted.
func (s *spool) fill(q *query, once bool) (Statement, error) {
	r := &renderer{}
	s.into(r)
	c := *q.core
	c.items = append([]*node(nil), s.exprs...)
	if len(c.items) == 0 {
		c.items = []*node{nullOf(types.IntType)}
	}
	f := *q
	f.core = &c
	if !once {
		r.query(&f)
		return r.statement()
	}
	r.WriteString("SELECT ")
	for i := range c.items {
		if i > 0 {
			r.WriteString(", ")
		}
		r.WriteString(columnName(i))
	}
	r.WriteString(" FROM (")
	r.query(&f)
	r.WriteString(") GROUP BY c1")
	return r.statement()
}

// pseudo returns the table inserted or deleted. value returns the node of a column, or nil for
// NULL.
func (b *builder) pseudo(name string, t target, value func(c *catalog.Column) (*node, error)) *source {
	src := &source{name: name}
	for _, c := range t.table.Columns {
		sc := sourceColumn{name: c.Name, typ: c.Type, null: c.Nullable, label: labelImplicit, base: c}
		sc.expand = func() (*node, error) {
			if c.Formula != nil {
				return b.formula(t.db, t.table, c, src)
			}
			n, err := value(c)
			if n == nil && err == nil {
				n = nullOf(c.Type)
			}
			if err != nil {
				return nil, err
			}
			r := *n
			if r.typ.IsCharacter() {
				r.label = labelImplicit
			}
			return &r, nil
		}
		src.cols = append(src.cols, sc)
	}
	return src
}

// output binds the OUTPUT clauses of a statement over its spool, and captures the columns of
// sources other than inserted and deleted. It must be called before the spool is finished;
// [outputs.emit] writes the statements afterwards.
func (b *builder) output(into, client *syntax.Output, l *level, s *spool) (*outputs, error) {
	o := &outputs{spool: s}
	for _, clause := range []*syntax.Output{into, client} {
		if clause == nil {
			continue
		}
		q, err := b.outputQuery(clause, l)
		if err != nil {
			return nil, err
		}
		q.core.from = s.src
		for i, n := range q.core.items {
			q.core.items[i] = s.captureColumns(n)
		}
		q.order = []orderTerm{{n: s.number()}}
		if clause == into {
			o.into, o.clause = q, into
		} else {
			o.client = q
		}
	}
	return o, nil
}

// outputQuery binds the items of an OUTPUT clause. Error 10702 for subqueries.
func (b *builder) outputQuery(clause *syntax.Output, l *level) (*query, error) {
	q := &query{core: &core{}}
	inner := &level{sources: l.sources, agg: &aggregation{refusal: mserr.AggregateInOutput()}}
	for _, item := range clause.Items {
		if err := b.checkItems(q); err != nil {
			return nil, err
		}
		var err error
		switch item := item.(type) {
		case *syntax.SelectStar:
			err = b.star(item, q, inner)
		case *syntax.SelectExpr:
			var n *node
			if n, err = b.expr(item.X, inner); err == nil {
				q.add(n, outColumn{name: itemName(item), typ: n.typ, null: n.null, label: n.label})
			}
		default:
			err = mserr.Syntax("=")
		}
		if err != nil {
			return nil, err
		}
	}
	for _, n := range q.core.items {
		if n.traits&hasSubquery != 0 {
			return nil, mserr.New(10702, 15, "Subqueries are not allowed in the OUTPUT clause.")
		}
	}
	return q, nil
}

// number returns the node of the spool's row number.
func (s *spool) number() *node {
	return &node{
		op:     opCol,
		typ:    types.BigIntType,
		src:    &source{alias: s.src.alias, cols: []sourceColumn{{sql: rowNumber, typ: types.BigIntType}}},
		traits: hasColumn,
	}
}

// outputs are bound OUTPUT clauses.
type outputs struct {
	spool        *spool
	into, client *query
	clause       *syntax.Output
}

// emit adds the statements of OUTPUT to a plan whose spool is finished.
func (o *outputs) emit(b *builder, d *DML) error {
	if o.into != nil {
		t, err := b.tableTarget(o.clause.Into, "INSERT")
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
		p := &Plan{Columns: o.client.columnTypes()}
		if err := renderPlan(p, b.needs, o.client); err != nil {
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
func (o *outputs) insert(b *builder, t target) (Statement, *IdentityNeed, error) {
	q, names := o.into, o.clause.IntoColumns
	ins, err := b.insertColumns(t, names, len(q.cols))
	if err != nil {
		return Statement{}, nil, err
	}
	if err := ins.check(names != nil, len(q.cols)); err != nil {
		return Statement{}, nil, err
	}
	var need *IdentityNeed
	var identity *node
	if ins.generates() {
		need = &IdentityNeed{Column: ins.identity, Identity: *ins.identity.Auto, Rows: -1}
		number := "row_number() OVER (ORDER BY " + o.spool.src.alias + "." + rowNumber + ")"
		if identity, err = ins.identityFrom(number, func(r *Run) types.Value { return r.IntoIdentity }); err != nil {
			return Statement{}, nil, err
		}
	}
	row, err := ins.row(b, "INSERT", q.core.items, identity)
	if err != nil {
		return Statement{}, nil, err
	}
	r := &renderer{}
	ins.head(r)
	c := *q.core
	c.items = row
	r.query(&query{core: &c, order: q.order})
	st, err := r.statement()
	return st, need, err
}

// Check compiles a condition on the columns of one table for a CHECK constraint: SQLite text over
// the table's columns, without parameters. Errors: 1046 for subqueries, and those of other
// expressions that a constraint cannot contain.
func (c *Compiler) Check(table *catalog.Table, e syntax.Cond) (sql string, err error) {
	return c.condition(table, e, &renderer{static: true, constraint: true})
}

// Filter compiles the WHERE of an index in the form that conditions in queries have, because SQLite
// compares the two texts to decide whether a query can use the index.
func (c *Compiler) Filter(table *catalog.Table, e syntax.Cond) (sql string, err error) {
	return c.condition(table, e, &renderer{static: true})
}

// condition compiles a condition on the columns of one table.
func (c *Compiler) condition(table *catalog.Table, e syntax.Cond, r *renderer) (sql string, err error) {
	err = c.bind(nil, func(b *binder) error {
		src := &source{name: table.Name, base: table}
		b.tableColumns(src, nil, table)
		b.locale = types.Locale{}
		n, err := b.cond(e, &level{sources: []*source{src}, noSubquery: true})
		if err != nil {
			return err
		}
		r.node(n)
		sql = r.String()
		return r.err
	})
	return sql, err
}

// Formula compiles the expression of a computed column. sql is the text for a generated column; it
// is "" for an expression that is not deterministic and must be expanded where the column is used.
// Error 1759 for a computed column that reads another one.
func (c *Compiler) Formula(table *catalog.Table, e syntax.Expr) (t types.Type, nullable bool, sql string, err error) {
	err = c.bind(nil, func(b *binder) error {
		src := &source{name: table.Name, base: table}
		b.tableColumns(src, nil, table)
		b.locale = types.Locale{}
		for i := range src.cols {
			if base := src.cols[i].base; base.Formula != nil || base.Computed {
				src.cols[i].expand = func() (*node, error) {
					return nil, mserr.New(1759, 16,
						"Computed column '%s' in table '%s' is not allowed to be used in another computed-column definition.",
						base.Name,
						table.Name,
					)
				}
			}
		}
		n, err := b.expr(e, &level{sources: []*source{src}, noSubquery: true})
		if err != nil {
			return err
		}
		if n.typ.ID == types.Null {
			if n, err = convert(n, types.IntType, types.NoStyle, false); err != nil {
				return err
			}
		}
		t, nullable = n.typ, n.null
		if n.traits&(hasEnv|hasPerRow|hasLocal|hasVar) != 0 {
			return nil
		}
		r := &renderer{static: true}
		r.node(n)
		sql = r.String()
		return r.err
	})
	return t, nullable, sql, err
}

// Truncate compiles TRUNCATE TABLE. The interpreter resets the identity counter and raises error
// 4712 and the error for a missing ALTER permission.
func (c *Compiler) Truncate(s *syntax.TruncateStmt) (d *DML, err error) {
	err = c.bind(nil, func(b *binder) error {
		d, err = compileTruncate(b, s)
		return err
	})
	return d, err
}

// compileTruncate compiles TRUNCATE TABLE.
func compileTruncate(in *binder, s *syntax.TruncateStmt) (d *DML, err error) {
	b := &builder{binder: in}
	t, err := b.tableTarget(&syntax.TableName{Name: s.Table}, "ALTER")
	if err != nil {
		return d, err
	}
	d = newDML("TRUNCATE TABLE", t)
	d.Apply = []Statement{{SQL: "DELETE FROM " + t.sql()}}
	d.Needs = b.needs
	return d, nil
}
