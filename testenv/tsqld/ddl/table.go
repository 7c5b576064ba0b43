package ddl

import (
	"errors"
	"slices"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/keys"
	"github.com/jobagent/jobagent/testenv/tsqld/failure"
	"github.com/jobagent/jobagent/testenv/tsqld/module"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/session"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// tables executes statements over tables and their indexes.
type tables struct{ *Executor }

// createTable executes CREATE TABLE.
func (r tables) createTable(st *syntax.CreateTableStmt) error {
	if err := tableOptions(st.Options); err != nil {
		return err
	}
	name := st.Name.Last()
	if catalog.IsLocalTemp(name) {
		return r.createTempTable(st, name)
	}
	d, schema, err := r.target(st.Name)
	if err != nil {
		return err
	}
	if err := r.s.MayCreateTable(d, schema, name); err != nil {
		return err
	}
	return r.s.Alter(r.ctx, d, func(d *catalog.Database, e *catalog.Edit) error {
		if d.Taken(schema, name) {
			return mserr.ObjectExists(name).WithState(6)
		}
		t := &catalog.Table{Header: catalog.Header{Name: name, SchemaID: d.Schema(schema).ID}, Creator: r.s.CreatorOf(name), Exact: d.Names().AreExact()}
		b := &builder{r: r.Executor, d: d, e: e, t: t, sc: schema, label: name}
		if err := b.define(st.Def); err != nil {
			return err
		}
		if err := b.checkDefaults(); err != nil {
			return err
		}
		if len(t.Columns) == 0 {
			return mserr.Syntax(")")
		}
		if err := r.s.CheckIndexOptions("CREATE TABLE", t); err != nil {
			return err
		}
		e.AddTable(t)
		r.s.Server.ResetCounter(session.CounterKey{Database: d.ID, Object: t.ObjectID})
		return nil
	})
}

// tableOptions returns an error for unsupported options of CREATE TABLE ... WITH.
func tableOptions(opts []*syntax.Option) error {
	for _, o := range opts {
		switch o.Name {
		case "DATA_COMPRESSION", "XML_COMPRESSION":
		default:
			return mserr.NotSupported("CREATE TABLE WITH (%s)", o.Name)
		}
	}
	return nil
}

// createTempTable executes CREATE TABLE #name.
func (r tables) createTempTable(st *syntax.CreateTableStmt, name string) error {
	s := r.s
	if r.place.InFunction {
		return mserr.Of(2772)
	}
	if s.Temp(name) != nil && !s.Shadows(name, r.place.Outer) {
		return mserr.ObjectExists(name).WithState(6)
	}
	t, err := r.host.Shape(st, func() (*catalog.Table, error) { return r.LocalDefinition(name, st.Def) })
	if err != nil {
		return err
	}
	if err := s.CheckIndexOptions("CREATE TABLE", t); err != nil {
		return err
	}
	return r.s.LocalChange(r.ctx, session.Scope{Several: true}, func() error { return s.CreateTemp(r.ctx, t) })
}

// LocalDefinition returns the definition of a temporary table or table variable.
func (r *Executor) LocalDefinition(name string, def *syntax.TableDef) (*catalog.Table, error) {
	d := r.s.DatabaseByID(r.s.DatabaseID)
	t := &catalog.Table{
		Header: catalog.Header{
			Name: name, SchemaID: catalog.SchemaDBO, Kind: catalog.KindTable, Created: r.s.Datetime(),
			Modified: r.s.Datetime(),
		},
		Temporary: true,
	}
	t.SQLName = session.LocalName(name, r.place.Level)
	b := &builder{r: r, d: d, t: t, label: name}
	if err := b.define(def); err != nil {
		return nil, err
	}
	t.ObjectID = session.NewLocalID()
	catalog.Number(t)
	if strings.HasPrefix(name, "@") {
		t.SQLName = session.VariableName(t, r.place.Level)
	}
	return t, nil
}

// alterTable executes ALTER TABLE.
func (r tables) alterTable(st *syntax.AlterTableStmt) error {
	name := st.Table.Last()
	if catalog.IsLocalTemp(name) {
		return r.alterTemp(st, name)
	}
	o, d, err := r.object(st.Table)
	if err != nil {
		return err
	}
	t, ok := o.(*catalog.Table)
	if !ok {
		return mserr.NoSuchAlter(st.Table.String())
	}
	if !r.s.MayAlter(d, t) {
		return mserr.NoSuchAlter(st.Table.String())
	}
	schema := d.SchemaByID(t.SchemaID).Name
	err = r.s.Alter(r.ctx, d, func(d *catalog.Database, e *catalog.Edit) error {
		old := d.TableByID(t.ObjectID)
		if old == nil {
			return mserr.NoSuchAlter(st.Table.String())
		}
		b := &builder{r: r.Executor, d: d, e: e, t: catalog.Clone(old), sc: schema, label: old.Name}
		fill, err := r.alterAction(b, old, st.Action)
		if err == nil {
			err = b.checkDefaults()
		}
		if err != nil {
			return err
		}
		t = b.t
		return e.ReplaceTable(b.t, fill)
	})
	return r.alterError(d, t, err)
}

// alterError returns the messages for an error of SQLite during ALTER TABLE. 1750 follows a
// duplicate key (SQL Server 2022, recorded).
func (r tables) alterError(d *catalog.Database, t *catalog.Table, err error) error {
	if err = r.s.DefinitionError(r.ctx, "ALTER TABLE", d, t, err); errors.Is(err, mserr.DuplicateIndexKey("", "", "")) {
		return constraintFailed(err)
	}
	return err
}

// alterAction applies an action to b.t. It returns the values of new and changed columns.
func (r tables) alterAction(
	b *builder, old *catalog.Table, action syntax.AlterTableAction,
) (map[int]catalog.Fill, error) {
	switch action.(type) {
	case *syntax.AlterAdd, *syntax.AlterDrop, *syntax.AlterColumn:
		if err := r.s.CheckIndexOptions("ALTER TABLE", old); err != nil {
			return nil, err
		}
	}
	switch a := action.(type) {
	case *syntax.AlterAdd:
		return r.addItems(b, old, a)
	case *syntax.AlterDrop:
		return nil, r.dropItems(b, a)
	case *syntax.AlterColumn:
		return r.alterColumn(b, a)
	case *syntax.AlterCheck:
		return nil, r.switchConstraints(b, a)
	case *syntax.AlterTrigger:
		return nil, switchTriggers(b.t.Triggers, a.Names, a.Enable, func(name string) error {
			return mserr.Of(4920, name, b.t.Name)
		})
	case *syntax.AlterSet:
		return nil, setTableOptions(b.t, a.Options)
	case *syntax.AlterRebuild:
		return nil, b.rebuildTable(a)
	}
	return nil, mserr.NotSupported("this ALTER TABLE")
}

// alterTemp executes ALTER TABLE on a temporary table. It creates the table again and copies the
// rows, unless only indexes change. That is slow, but ALTER TABLE on temporary tables is rare.
func (r tables) alterTemp(st *syntax.AlterTableStmt, name string) error {
	s := r.s
	old := s.Temp(name)
	if old == nil {
		return mserr.NoSuchAlter(name)
	}
	b := &builder{r: r.Executor, d: s.DatabaseByID(s.DatabaseID), t: catalog.Clone(old), label: name}
	fill, err := r.alterAction(b, old, st.Action)
	if err != nil {
		return err
	}
	t := b.t
	t.ObjectID = old.ObjectID
	catalog.Number(t)
	err = r.s.LocalChange(r.ctx, session.Scope{Several: true}, func() error { return s.Reshape(r.ctx, old, t, fill) })
	return r.alterError(nil, t, err)
}

// addItems executes ALTER TABLE ... ADD.
func (r tables) addItems(b *builder, old *catalog.Table, a *syntax.AlterAdd) (map[int]catalog.Fill, error) {
	before := len(b.t.Columns)
	checks, foreign := len(b.t.Checks), len(b.t.ForeignKeys)
	if err := b.define(a.Def); err != nil {
		return nil, err
	}
	if a.Mode == syntax.WithNoCheck {
		for _, c := range b.t.Checks[checks:] {
			c.NotTrusted = true
		}
		for _, f := range b.t.ForeignKeys[foreign:] {
			f.NotTrusted = true
		}
	}
	catalog.Number(b.t)
	fill := map[int]catalog.Fill{}
	for _, c := range b.t.Columns[before:] {
		f, err := r.fillNew(b, old, c, withValues(a.Def, c.Name))
		if err != nil {
			return nil, err
		}
		if f.SQL != "" {
			fill[c.ID] = f
		}
	}
	return fill, nil
}

// withValues reports whether a new column has DEFAULT ... WITH VALUES.
func withValues(def *syntax.TableDef, column string) bool {
	for _, c := range def.Columns {
		if c.Name.Name == column && c.Default != nil {
			return c.Default.WithValues
		}
	}
	return false
}

// fillNew returns the value of a new column in existing rows.
func (r tables) fillNew(b *builder, old *catalog.Table, c *catalog.Column, applyDefault bool) (catalog.Fill, error) {
	switch {
	case c.Formula != nil:
		return catalog.Fill{}, nil
	case c.Auto != nil:
		n, err := r.countRows(b.d, old)
		if err != nil {
			return catalog.Fill{}, err
		}
		if n > 0 {
			database := b.d.ID
			if old.Temporary {
				database = 0
			}
			last := c.Auto.Seed + (n-1)*c.Auto.Increment
			r.s.Server.SetCounter(r.s.Counters.IdentityKey(database, old), session.Counter{Last: last, Used: true})
			if err := r.s.Counters.StoreIdentity(r.ctx, database, old, last); err != nil {
				return catalog.Fill{}, err
			}
		}
		return catalog.Fill{
			SQL: "? + (row_number() OVER () - 1) * ?", Args: []types.Value{c.Auto.Seed, c.Auto.Increment},
		}, nil
	case c.Type.ID == types.RowVersion:
		return catalog.Fill{SQL: "fnv('rv|" + strings.TrimPrefix(b.d.SQLName(), "d") + "')"}, nil
	case c.Default != nil && (!c.Nullable || applyDefault):
		e, err := parser.ParseExpr(c.Default.Text, parser.DefaultOptions)
		if err != nil {
			return catalog.Fill{}, err
		}
		if f, ok := unparen(e).(*syntax.FuncCall); ok && (catalog.EqualNames(f.Name.Last(), "NEWID") || plainNewSequential(f)) {
			return catalog.Fill{SQL: "randomblob(16)"}, nil
		}
		v, err := r.host.Value(e, c.Type)
		if err != nil {
			return catalog.Fill{}, err
		}
		if v != nil && types.Truncates(v, c.Type, c.Type) {
			return catalog.Fill{}, mserr.Truncated()
		}
		return catalog.Fill{SQL: "?", Args: []types.Value{v}}, nil
	case !c.Nullable:
		n, err := r.countRows(b.d, old)
		if err != nil {
			return catalog.Fill{}, err
		}
		if n > 0 {
			return catalog.Fill{}, mserr.AddNotNull(c.Name, b.label)
		}
	}
	return catalog.Fill{}, nil
}

// unparen removes the parentheses around an expression.
func unparen(e syntax.Expr) syntax.Expr {
	for {
		p, ok := e.(*syntax.ParenExpr)
		if !ok {
			return e
		}
		e = p.X
	}
}

// countRows counts the rows of a table.
func (r tables) countRows(d *catalog.Database, t *catalog.Table) (int64, error) {
	row, err := r.s.Conn.QueryRow(r.ctx, "SELECT count(*) FROM "+session.SQLTable(d, t), nil)
	if err != nil {
		return 0, err
	}
	return row[0].(int64), nil
}

// dropItems executes ALTER TABLE ... DROP.
func (r tables) dropItems(b *builder, a *syntax.AlterDrop) error {
	d := constraintDrop{b: b}
	type name struct {
		column bool
		folded string
	}
	seen := map[name]bool{}
	for _, item := range a.Items {
		if err := r.s.Meter().Work(module.NodeWork); err != nil {
			return err
		}
		key := name{item.Column, b.t.Names().Fold(item.Name.Name)}
		if seen[key] {
			return mserr.DuplicateInStatement(item.Name.Name)
		}
		seen[key] = true
		var err error
		if item.Column {
			d.finish() // the column may depend on nothing then
			err = b.dropColumn(item)
		} else {
			err = d.drop(item)
		}
		if err != nil {
			return err
		}
	}
	d.finish()
	return nil
}

// dropColumn executes DROP COLUMN.
func (b *builder) dropColumn(item *syntax.AlterDropItem) error {
	const statement = "ALTER TABLE DROP COLUMN"
	c := b.t.Column(item.Name.Name)
	if c == nil {
		return absent(item.IfExists, mserr.NoSuchAlterColumn(statement, item.Name.Name, b.label))
	}
	if err := b.dependents(c, statement, true); err != nil {
		return err
	}
	if len(b.t.Columns) == 1 {
		return mserr.OnlyColumn(c.Name, b.label)
	}
	for i, o := range b.t.Columns {
		if o == c {
			b.t.Columns = append(b.t.Columns[:i], b.t.Columns[i+1:]...)
			break
		}
	}
	return nil
}

// dependents returns errors 5074 and 4922 if another object depends on a column. If a column only
// becomes nullable or longer, defaults and indexes do not count ("ALTER TABLE", ALTER COLUMN); they
// count if retyped is true.
func (b *builder) dependents(c *catalog.Column, statement string, retyped bool) error {
	blocked := func(kind, name string) error {
		return failure.Preceded(mserr.DependentObject(kind, name, "column", c.Name), mserr.ColumnInUse(statement, c.Name))
	}
	if c.Default != nil && retyped {
		return blocked("object", c.Default.Name)
	}
	for _, ix := range b.t.Indexes {
		if ix.Key == nil && !retyped {
			continue
		}
		for _, ic := range ix.Columns {
			if ic.ColumnID == c.ID {
				return blocked(indexWord(ix), ix.Name)
			}
		}
		if slices.Contains(ix.Included, c.ID) {
			return blocked("index", ix.Name)
		}
		if ix.Filter != "" && b.mentions(ix.Filter, c) {
			return blocked("index", ix.Name)
		}
	}
	for _, k := range b.t.Checks {
		if err := b.r.s.Meter().Work(module.NodeWork + parseWork*len(k.Text)); err != nil {
			return err
		}
		if b.mentions(k.Text, c) {
			return blocked("object", k.Name)
		}
	}
	for _, f := range b.t.ForeignKeys {
		if slices.Contains(f.Columns, c.ID) {
			return blocked("object", f.Name)
		}
	}
	if err := b.computedDependents(c, statement); err != nil || b.e == nil {
		return err
	}
	for _, t := range b.d.Tables() {
		for _, f := range t.ForeignKeys {
			if f.Referenced != b.t.ObjectID {
				continue
			}
			if slices.Contains(f.RefColumns, c.ID) {
				return blocked("object", f.Name)
			}
		}
	}
	return nil
}

// parseWork is the cost of parsing a byte, in steps of [meter.Meter.Work].
const parseWork = 20

// computedDependents returns errors 5074 and 4922 if a computed column depends on a column.
func (b *builder) computedDependents(c *catalog.Column, statement string) error {
	for _, o := range b.t.Columns {
		if o.Formula == nil || o == c {
			continue
		}
		if err := b.r.s.Meter().Work(module.NodeWork + parseWork*len(o.Formula.Text)); err != nil {
			return err
		}
		if b.mentions(o.Formula.Text, c) {
			return failure.Preceded(mserr.DependentObject("column", o.Name, "column", c.Name),
				mserr.ColumnInUse(statement, c.Name))
		}
	}
	return nil
}

// indexWord returns the word for an index in message 5074.
func indexWord(ix *catalog.Index) string {
	if ix.Key != nil {
		return "object"
	}
	return "index"
}

// mentions reports whether the text of a condition or expression contains a column.
func (b *builder) mentions(text string, c *catalog.Column) bool {
	n := module.Expression(text)
	if n == nil {
		return true
	}
	for _, o := range columnsOf(b.t, n) {
		if o.ID == c.ID {
			return true
		}
	}
	return false
}

// referencing returns a foreign key that uses an index, and the table of the foreign key. It leaves
// out those in gone.
func (b *builder) referencing(ix *catalog.Index, gone map[any]bool) (*catalog.ForeignKey, *catalog.Table) {
	if b.e == nil {
		return nil, nil
	}
	for _, t := range b.d.Tables() {
		if t.ObjectID == b.t.ObjectID {
			t = b.t
		}
		for _, f := range t.ForeignKeys {
			if f.Referenced == b.t.ObjectID && f.RefIndexID == ix.ID && !gone[f] {
				return f, t
			}
		}
	}
	return nil, nil
}

// alterColumn executes ALTER COLUMN.
func (r tables) alterColumn(b *builder, a *syntax.AlterColumn) (map[int]catalog.Fill, error) {
	const statement = "ALTER TABLE ALTER COLUMN"
	c := b.t.Column(a.Column.Name.Name)
	if c == nil {
		return nil, mserr.NoSuchAlterColumn(statement, a.Column.Name.Name, b.label)
	}
	if a.Column.Type == nil {
		switch {
		case a.Add == "ROWGUIDCOL", a.Drop == "ROWGUIDCOL":
			c.RowGUID = a.Add != ""
			return nil, nil
		case a.Add == "SPARSE", a.Drop == "SPARSE":
			c.Sparse = a.Add != ""
			return nil, nil
		}
		return nil, mserr.NotSupported("ALTER COLUMN ADD/DROP %s%s", a.Add, a.Drop)
	}
	switch {
	case c.Formula != nil:
		return nil, mserr.CannotAlterColumn(c.Name, "COMPUTED")
	case c.Type.ID == types.RowVersion:
		return nil, mserr.CannotAlterColumn(c.Name, "timestamp")
	}
	was := *c
	fresh := &catalog.Column{ID: c.ID}
	fresh.Name = c.Name
	if err := b.columnType(fresh, a.Column); err != nil {
		return nil, err
	}
	same := fresh.Type == was.Type
	widens := fresh.Type.ID == was.Type.ID && isVarying(fresh.Type) &&
		fresh.Type.Collation == was.Type.Collation &&
		(fresh.Type.IsMax() || !was.Type.IsMax() && fresh.Type.Length >= was.Type.Length)
	if !same && !widens || a.Column.Null == syntax.NullAllowed && !was.Nullable {
		if err := b.dependents(c, statement, !same && !widens); err != nil {
			return nil, err
		}
	}
	if !same {
		if err := b.computedDependents(c, statement); err != nil {
			return nil, err
		}
		if err := types.CheckImplicit(was.Type, fresh.Type); err != nil {
			return nil, err
		}
	}
	c.Type, c.Collation, c.UserTypeID = fresh.Type, fresh.Collation, fresh.UserTypeID
	switch a.Column.Null {
	case syntax.NotNull:
		c.Nullable = false
	case syntax.NullAllowed:
		c.Nullable = true
	default:
		c.Nullable = !r.s.Options.AnsiNullDefaultOff
		if b.inPrimaryKey(c) {
			c.Nullable = false
		}
	}
	if c.Auto != nil {
		if c.Nullable {
			c.Nullable = false
		}
		if !c.Type.IsInteger() && (c.Type.ID != types.Decimal || c.Type.Scale != 0) {
			return nil, mserr.InvalidIdentityType(c.Name)
		}
	}
	if same || widens {
		return nil, nil
	}
	old := catalog.Clone(b.t)
	*old.ColumnByID(c.ID) = was
	if was.Type.Storage() != c.Type.Storage() {
		c.SQLName = "" // the catalog chooses a new name
	}
	return map[int]catalog.Fill{
		c.ID: {SQL: keys.StoreSQL(was.Type, c.Type, session.FullLabel(b.d, old), c.Name, was.SQLName)},
	}, nil
}

// isVarying reports whether columns of a type can become longer without a change of the stored
// values.
func isVarying(t types.Type) bool {
	return t.ID == types.VarChar || t.ID == types.NVarChar || t.ID == types.VarBinary
}

// inPrimaryKey reports whether a column is in the primary key.
func (b *builder) inPrimaryKey(c *catalog.Column) bool {
	pk := b.t.PrimaryKey()
	return pk != nil && hasIndexColumn(pk, c.ID)
}

// hasIndexColumn reports whether an index contains a column.
func hasIndexColumn(ix *catalog.Index, id int) bool {
	for _, ic := range ix.Columns {
		if ic.ColumnID == id {
			return true
		}
	}
	return false
}

// switchConstraints executes [NO]CHECK CONSTRAINT.
func (r tables) switchConstraints(b *builder, a *syntax.AlterCheck) error {
	found := map[string]bool{} // whether a wanted name exists
	for _, n := range a.Names {
		if _, ok := found[catalog.Fold(n.Name)]; ok {
			return mserr.DuplicateInStatement(n.Name)
		}
		found[catalog.Fold(n.Name)] = false
	}
	wanted := func(name string) bool {
		key := catalog.Fold(name)
		if _, ok := found[key]; ok {
			found[key] = true
			return true
		}
		return len(a.Names) == 0
	}
	for _, k := range b.t.Checks {
		if wanted(k.Name) {
			k.Disabled = !a.Enable
			k.NotTrusted = !a.Enable || a.Mode != syntax.WithCheck && k.NotTrusted
		}
	}
	for _, f := range b.t.ForeignKeys {
		if wanted(f.Name) {
			f.Disabled = !a.Enable
			f.NotTrusted = !a.Enable || a.Mode != syntax.WithCheck && f.NotTrusted
		}
	}
	for _, n := range a.Names {
		if !found[catalog.Fold(n.Name)] {
			missing := mserr.Of(4917, n.Name)
			if b.constraints()[b.t.Names().Fold(n.Name)] != nil {
				missing = mserr.Of(11415, n.Name)
			}
			return failure.Preceded(missing, mserr.Of(4916))
		}
	}
	return nil
}

// Truncate executes TRUNCATE TABLE.
func (r *Executor) Truncate(st *syntax.TruncateStmt) error {
	r.s.RowCount = 0
	if t := r.s.Temp(st.Table.Last()); t != nil {
		return r.s.LocalChange(r.ctx, session.Scope{Several: true}, func() error {
			if _, err := r.s.Conn.Exec(r.ctx, "DELETE FROM "+session.SQLTable(nil, t), nil); err != nil {
				return err
			}
			r.s.Server.ResetCounter(r.s.Counters.IdentityKey(0, t))
			return nil
		})
	}
	o, d, err := r.object(st.Table)
	if err != nil {
		return err
	}
	t, ok := o.(*catalog.Table)
	if !ok || !r.s.MayAlter(d, t) {
		return mserr.NoSuchTruncate(st.Table.Last())
	}
	for _, other := range d.Tables() {
		for _, f := range other.ForeignKeys {
			if f.Referenced == t.ObjectID && other != t {
				return mserr.TruncateReferenced(st.Table.Last())
			}
		}
	}
	return r.s.Atomic(r.ctx, session.Scope{Databases: []int{d.ID}, Several: true}, func() error {
		if _, err := r.s.Conn.Exec(r.ctx, "DELETE FROM "+session.SQLTable(d, t), nil); err != nil {
			return err
		}
		if t.IdentityColumn() == nil {
			return nil
		}
		r.s.Server.SetCounter(r.s.Counters.IdentityKey(d.ID, t), session.Counter{})
		_, err := r.s.Conn.Exec(r.ctx,
			"UPDATE "+d.SQLName()+"."+catalog.IdentityTable+" SET last = NULL WHERE object_id = ?1",
			[]types.Value{int64(t.ObjectID)})
		return err
	})
}

// setTableOptions executes ALTER TABLE ... SET.
func setTableOptions(t *catalog.Table, options []*syntax.Option) error {
	for _, o := range options {
		if o.Name != "LOCK_ESCALATION" {
			return mserr.NotSupported("ALTER TABLE SET (%s)", o.Name)
		}
		value, _ := o.Value.(*syntax.Keyword)
		if value == nil {
			return mserr.Syntax("LOCK_ESCALATION")
		}
		switch value.Name {
		case "TABLE":
			t.LockEscalation = 0
		case "DISABLE":
			t.LockEscalation = 1
		case "AUTO":
			t.LockEscalation = 2
		default:
			return mserr.Syntax(value.Name)
		}
	}
	return nil
}
