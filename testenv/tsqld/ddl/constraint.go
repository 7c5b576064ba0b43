package ddl

import (
	"slices"
	"strconv"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/failure"
	"github.com/jobagent/jobagent/testenv/tsqld/module"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/session"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// constraint adds a constraint. column is the name of the column of a column constraint, "" for a
// table constraint.
func (b *builder) constraint(k syntax.Constraint, column string) error {
	if err := b.work(1); err != nil {
		return err
	}
	switch k := k.(type) {
	case *syntax.KeyConstraint:
		return b.key(k, column)
	case *syntax.CheckConstraint:
		return b.check(k, column)
	case *syntax.ForeignKeyConstraint:
		return b.foreignKey(k, column)
	case *syntax.DefaultConstraint:
		c := b.t.Column(k.Column.Name)
		if c == nil {
			return failure.Preceded(
				mserr.Of(1752, k.Column.Name, b.label),
				mserr.ConstraintNotCreated().WithState(0))
		}
		return b.defaultValue(c, k)
	}
	return mserr.NotSupported("this constraint")
}

// indexColumns resolves the columns of a key or index. It first assigns missing column IDs.
func (b *builder) indexColumns(list []*syntax.IndexColumn, name, column string) ([]catalog.IndexColumn, error) {
	catalog.Number(b.t)
	if len(list) == 0 && column != "" {
		list = []*syntax.IndexColumn{{Name: syntax.Ident{Name: column}}}
	}
	if len(list) > mserr.MostKeyColumns {
		return nil, mserr.TooManyKeyColumns(name, b.label, len(list))
	}
	if err := b.work(len(list)); err != nil {
		return nil, err
	}
	var out []catalog.IndexColumn
	for _, ic := range list {
		c := b.t.Column(ic.Name.Name)
		if c == nil {
			return nil, mserr.NoSuchIndexColumn(ic.Name.Name)
		}
		if slices.ContainsFunc(out, func(o catalog.IndexColumn) bool { return o.ColumnID == c.ID }) {
			return nil, mserr.DuplicateIndexColumn(c.Name)
		}
		if c.Type.IsMax() || c.Type.IsLOB() || c.Type.ID == types.XML {
			return nil, mserr.InvalidKeyColumn(c.Name, b.t.Name)
		}
		if c.Formula != nil && c.Formula.SQL == "" {
			return nil, mserr.Of(2729, c.Name, b.label)
		}
		out = append(out, catalog.IndexColumn{ColumnID: c.ID, Desc: ic.Desc})
	}
	return out, nil
}

// key adds PRIMARY KEY or UNIQUE.
func (b *builder) key(k *syntax.KeyConstraint, column string) error {
	if k.Primary && b.t.PrimaryKey() != nil {
		if b.t.ObjectID != 0 {
			return failure.Preceded(mserr.PrimaryKeyExists(b.label), mserr.ConstraintNotCreated().WithState(0))
		}
		return mserr.MultiplePrimaryKeys(b.label)
	}
	cols, err := b.indexColumns(k.Columns, k.Name.Name, column)
	if err != nil {
		return constraintFailed(err)
	}
	prefix := "UQ"
	if k.Primary {
		prefix = "PK"
		for _, ic := range cols {
			c := b.t.ColumnByID(ic.ColumnID)
			if c.Formula != nil && !c.Formula.Persisted && b.t.ObjectID == 0 {
				return constraintFailed(mserr.Of(1711, c.Name, b.label))
			}
			if !c.Nullable {
				continue
			}
			if b.t.ObjectID != 0 || b.explicitNull(c) {
				return constraintFailed(mserr.NullablePrimaryKey(b.label))
			}
			c.Nullable = false
		}
	}
	ix := &catalog.Index{Unique: true, Columns: cols}
	ix.Clustered = k.Clustering == syntax.Clustered ||
		k.Clustering == syntax.ClusteringDefault && k.Primary && b.clustered() == nil && !b.uniqueClustered
	if ix.Clustered {
		if other := b.clustered(); other != nil {
			if b.t.ObjectID != 0 {
				return failure.Preceded(mserr.ClusteredExists(b.t.Name, other.Name), mserr.ConstraintNotCreated())
			}
			return mserr.MultipleClusteredConstraints(b.t.Name)
		}
	}
	if err := indexOptions(ix, k.Options); err != nil {
		return err
	}
	id := b.newID()
	name, system, err := b.name(k.Name, prefix, "", id)
	if err != nil {
		return err
	}
	if err := b.anotherIndex(ix, name); err != nil {
		return constraintFailed(err)
	}
	ix.Name = name
	ix.Key = &catalog.Key{ObjectID: id, Name: name, Primary: k.Primary, System: system, Created: b.r.s.Datetime()}
	b.t.Indexes = append(b.t.Indexes, ix)
	return nil
}

// explicitNull reports whether a column has an explicit NULL. A primary key makes other nullable
// columns NOT NULL.
func (b *builder) explicitNull(c *catalog.Column) bool { return b.nullGiven[c] }

// work counts a step of a definition that looks for columns, or compares an index with the others.
func (b *builder) work(lookups int) error {
	return b.r.s.Meter().Work(module.NodeWork + lookupWork*lookups*len(b.t.Columns) + len(b.t.Indexes))
}

// lookupWork is the cost of comparing the name of a column, in steps of [meter.Meter.Work].
const lookupWork = 4

// anotherIndex checks the number of indexes: error 1910.
func (b *builder) anotherIndex(ix *catalog.Index, name string) error {
	others := len(b.t.Indexes)
	if b.clustered() != nil {
		others--
	}
	if !ix.Clustered && others >= mserr.MostIndexes {
		return mserr.TooManyIndexes(name)
	}
	return nil
}

// clustered returns the clustered index of the table, or nil.
func (b *builder) clustered() *catalog.Index {
	for _, ix := range b.t.Indexes {
		if ix.Clustered {
			return ix
		}
	}
	return nil
}

// constraintFailed adds message 1750 to the error of a constraint; its state is 0 for errors of the
// columns of the table itself. Error 8139 stands alone (SQL Server 2025, recorded).
func constraintFailed(err error) error {
	return failure.WithMessage(err, func(e *mserr.Error) error {
		if e.Number == 8139 {
			return e
		}
		last := mserr.ConstraintNotCreated()
		if e.Number/100 == 19 || e.Number == 8111 || e.Number == 1769 {
			last.State = 0
		}
		return failure.Preceded(e, last)
	})
}

// check adds CHECK.
func (b *builder) check(k *syntax.CheckConstraint, column string) error {
	catalog.Number(b.t)
	sql, err := b.r.host.Compiler().Check(b.t, k.Cond)
	if err != nil {
		return err
	}
	id := b.newID()
	name, system, err := b.name(k.Name, "CK", column, id)
	if err != nil {
		return err
	}
	check := &catalog.Check{
		ObjectID: id, Name: name, System: system, Text: b.definitionText(k.Cond), SQL: sql, Created: b.r.s.Datetime(),
	}
	cols := columnsOf(b.t, k.Cond)
	for _, used := range cols {
		if used.Formula != nil && !used.Formula.Persisted {
			return failure.Preceded(mserr.Of(1764, used.Name, b.label, "CHECK CONSTRAINT"), mserr.ConstraintNotCreated().WithState(0))
		}
	}
	if c := b.t.Column(column); c != nil {
		for _, used := range cols {
			if used != c {
				return failure.Preceded(mserr.ColumnConstraintReach("CHECK", column, b.label), mserr.ConstraintNotCreated())
			}
		}
		cols = []*catalog.Column{c}
	}
	if len(cols) == 1 { // also of a table constraint (SQL Server 2022, recorded)
		check.ColumnID = cols[0].ID
	}
	b.t.Checks = append(b.t.Checks, check)
	return nil
}

// columnsOf returns the columns of a table that an expression or condition contains.
func columnsOf(t *catalog.Table, n syntax.Node) []*catalog.Column {
	var out []*catalog.Column
	syntax.Inspect(n, func(n syntax.Node) bool {
		if ref, ok := n.(*syntax.ColumnRef); ok {
			if c := t.Column(ref.Column()); c != nil && !slices.Contains(out, c) {
				out = append(out, c)
			}
		}
		return true
	})
	return out
}

// foreignKey adds FOREIGN KEY.
func (b *builder) foreignKey(k *syntax.ForeignKeyConstraint, column string) error {
	if b.e == nil || catalog.IsGlobalTemp(b.t.Name) {
		if strings.HasPrefix(b.t.Name, "#") {
			// SQL Server ignores foreign keys of temporary tables and sends this message.
			return b.r.host.Info(mserr.Of(1766, k.Name.Name))
		}
		return mserr.SyntaxKeyword("FOREIGN")
	}
	catalog.Number(b.t)
	id := b.newID()
	name, system, err := b.name(k.Name, "FK", "", id)
	if err != nil {
		return err
	}
	fk := &catalog.ForeignKey{
		ObjectID: id, Name: name, System: system, OnDelete: catalog.Action(k.OnDelete),
		OnUpdate: catalog.Action(k.OnUpdate), Created: b.r.s.Datetime(),
	}
	if err := b.work(len(k.Columns)); err != nil {
		return err
	}
	own := k.Columns
	if len(own) == 0 && column != "" {
		own = []syntax.Ident{{Name: column}}
	}
	for _, id := range own {
		c := b.t.Column(id.Name)
		if c == nil {
			return constraintFailed(mserr.ForeignKeyOwnColumn(name, id.Name, b.label))
		}
		fk.Columns = append(fk.Columns, c.ID)
	}
	ref, err := b.referenced(k, name)
	if err != nil {
		return err
	}
	if err := b.referencedColumns(k, fk, ref); err != nil {
		return constraintFailed(err)
	}
	if err := b.checkActions(fk); err != nil {
		return constraintFailed(err)
	}
	if fk.OnDelete != catalog.NoAction && catalog.Instead(b.t, "DELETE") != nil ||
		fk.OnUpdate != catalog.NoAction && catalog.Instead(b.t, "UPDATE") != nil {
		return constraintFailed(mserr.CascadeWithInsteadOf(name, b.t.Name))
	}
	if err := b.checkCascades(fk, ref); err != nil {
		return constraintFailed(err)
	}
	if ref != b.t {
		fk.Referenced = ref.ObjectID
	}
	b.t.ForeignKeys = append(b.t.ForeignKeys, fk)
	return nil
}

// checkActions returns the error of a foreign key whose columns cannot have its actions: 1715,
// 1761, 1762, 1764, 1765.
func (b *builder) checkActions(fk *catalog.ForeignKey) error {
	sets := func(a catalog.Action) bool { return fk.OnDelete == a || fk.OnUpdate == a }
	for _, id := range fk.Columns {
		switch c := b.t.ColumnByID(id); {
		case c.Formula != nil && !c.Formula.Persisted:
			return mserr.Of(1764, c.Name, b.label, "FOREIGN KEY CONSTRAINT")
		case c.Formula != nil && fk.OnDelete > catalog.Cascade:
			return mserr.Of(1765, fk.Name, c.Name)
		case c.Formula != nil && fk.OnUpdate != catalog.NoAction:
			return mserr.Of(1715, fk.Name, c.Name)
		case sets(catalog.SetNull) && !c.Nullable:
			return mserr.Of(1761, fk.Name)
		case sets(catalog.SetDefault) && !c.Nullable && c.Default == nil:
			return mserr.Of(1762, fk.Name)
		}
	}
	return nil
}

// checkDefaults refuses SET DEFAULT of a default that is not a constant.
func (b *builder) checkDefaults() error {
	for _, fk := range b.t.ForeignKeys {
		for _, id := range fk.Columns {
			c := b.t.ColumnByID(id)
			if c.Default != nil && c.Default.SQL == "" && (fk.OnDelete == catalog.SetDefault || fk.OnUpdate == catalog.SetDefault) {
				return mserr.NotSupported("SET DEFAULT of a default that is not a constant")
			}
		}
	}
	return nil
}

// referenced returns the table to which a foreign key refers. It may be the table that is being
// created.
func (b *builder) referenced(k *syntax.ForeignKeyConstraint, name string) (*catalog.Table, error) {
	n := k.RefTable
	if n.Database() != "" && !catalog.EqualNames(n.Database(), b.d.Name) {
		return nil, mserr.Of(1763, n.String())
	}
	if b.t.Names().Equal(n.Last(), b.t.Name) && (n.Schema() == "" || b.t.Names().Equal(n.Schema(), b.sc)) {
		return b.t, nil
	}
	schema := n.Schema()
	if schema == "" {
		schema = b.r.s.DefaultSchema()
	}
	t := b.d.Table(schema, n.Last())
	if t == nil && n.Schema() == "" {
		t = b.d.Table("dbo", n.Last())
	}
	if t == nil {
		return nil, constraintFailed(mserr.ForeignKeyTable(name, n.String()))
	}
	if !b.r.s.May(b.d, "REFERENCES", catalog.Securable{Class: catalog.ClassObject, Major: int(t.ObjectID)}) {
		return nil, session.PermissionDenied(b.d, t, "REFERENCES")
	}
	return t, nil
}

// referencedColumns resolves the columns to which a foreign key refers, and finds their unique
// index.
func (b *builder) referencedColumns(k *syntax.ForeignKeyConstraint, fk *catalog.ForeignKey, ref *catalog.Table) error {
	if len(k.RefColumns) == 0 {
		pk := ref.PrimaryKey()
		if pk == nil {
			return mserr.Of(1773, fk.Name, k.RefTable.String())
		}
		for _, ic := range pk.Columns {
			fk.RefColumns = append(fk.RefColumns, ic.ColumnID)
		}
		if len(fk.RefColumns) != len(fk.Columns) {
			return mserr.ForeignKeyCount(fk.Name, k.RefTable.String())
		}
	}
	for _, id := range k.RefColumns {
		c := ref.Column(id.Name)
		if c == nil {
			return mserr.ForeignKeyColumn(fk.Name, id.Name, k.RefTable.String())
		}
		fk.RefColumns = append(fk.RefColumns, c.ID)
	}
	if len(fk.RefColumns) != len(fk.Columns) {
		return mserr.Of(8139, b.label)
	}
	for _, ix := range ref.Indexes {
		if ix.Unique && ix.Filter == "" && sameColumns(ix, fk.RefColumns) {
			fk.RefIndexID = ix.ID
			break
		}
	}
	if fk.RefIndexID == 0 && !b.hasKey(ref, fk.RefColumns) {
		return mserr.ForeignKeyNoKey(k.RefTable.String(), fk.Name)
	}
	for i := range fk.Columns {
		col, refCol := b.t.ColumnByID(fk.Columns[i]), ref.ColumnByID(fk.RefColumns[i])
		if col.Type.ID != refCol.Type.ID || col.Type.Scale != refCol.Type.Scale ||
			col.Type.Precision != refCol.Type.Precision {
			return mserr.ForeignKeyType(ref.Name+"."+refCol.Name, b.t.Name+"."+col.Name, fk.Name)
		}
		if col.Type.IsCharacter() && col.Type.Length != refCol.Type.Length {
			return mserr.Of(1753, ref.Name, refCol.Name, b.t.Name, col.Name, fk.Name)
		}
	}
	return nil
}

// hasKey reports whether a table has a unique index over columns. A new index has no ID yet.
func (b *builder) hasKey(ref *catalog.Table, columns []int) bool {
	return slices.ContainsFunc(ref.Indexes, func(ix *catalog.Index) bool {
		return ix.Unique && ix.Filter == "" && sameColumns(ix, columns)
	})
}

// sameColumns reports whether an index has exactly these columns, in any order.
func sameColumns(ix *catalog.Index, columns []int) bool {
	if len(ix.Columns) != len(columns) {
		return false
	}
	for _, ic := range ix.Columns {
		if !slices.Contains(columns, ic.ColumnID) {
			return false
		}
	}
	return true
}

// index adds an index of the table definition.
func (b *builder) index(def *syntax.IndexDef, column string) error {
	ix, err := b.newIndex(def, column)
	if err != nil {
		return err
	}
	b.t.Indexes = append(b.t.Indexes, ix)
	return nil
}

// newIndex returns the definition of an index.
func (b *builder) newIndex(def *syntax.IndexDef, column string) (*catalog.Index, error) {
	if err := b.work(1 + len(def.Include)); err != nil {
		return nil, err
	}
	if b.t.Index(def.Name.Name) != nil {
		return nil, mserr.IndexExists(def.Name.Name, b.t.Name)
	}
	cols, err := b.indexColumns(def.Columns, def.Name.Name, column)
	if err != nil {
		return nil, err
	}
	ix := &catalog.Index{
		Name: def.Name.Name, Unique: def.Unique, Clustered: def.Clustering == syntax.Clustered, Columns: cols,
	}
	if err := b.anotherIndex(ix, ix.Name); err != nil {
		return nil, err
	}
	if ix.Clustered {
		if other := b.clustered(); other != nil {
			return nil, mserr.ClusteredExists(b.t.Name, other.Name)
		}
		if len(def.Include) > 0 {
			return nil, mserr.Of(10601)
		}
		if def.Where != nil {
			return nil, mserr.Of(10610, ix.Name, b.label)
		}
	}
	for _, id := range def.Include {
		c := b.t.Column(id.Name)
		if c == nil {
			return nil, mserr.NoSuchIndexColumn(id.Name)
		}
		if slices.Contains(ix.Included, c.ID) || slices.ContainsFunc(cols, func(ic catalog.IndexColumn) bool {
			return ic.ColumnID == c.ID
		}) {
			return nil, mserr.DuplicateIndexColumn(c.Name)
		}
		ix.Included = append(ix.Included, c.ID)
	}
	if def.Where != nil {
		if ix.FilterSQL, err = b.r.host.Compiler().Filter(b.t, def.Where); err != nil {
			return nil, err
		}
		ix.Filter = b.filterText(def.Where)
	}
	return ix, indexOptions(ix, def.Options)
}

// indexOptions sets the options of an index. Options about storage have no effect.
func indexOptions(ix *catalog.Index, opts []*syntax.Option) error {
	for _, o := range opts {
		on := false
		if k, ok := o.Value.(*syntax.Keyword); ok {
			on = strings.EqualFold(k.Name, "ON")
		}
		switch o.Name {
		case "IGNORE_DUP_KEY":
			switch {
			case on && ix.FilterSQL != "":
				return mserr.NotSupported("IGNORE_DUP_KEY = ON of a filtered index")
			case on && !ix.Unique:
				return mserr.Of(1916, "nonunique", "ignore_dup_key")
			}
			ix.IgnoreDups = on
		case "FILLFACTOR":
			if l, ok := o.Value.(*syntax.Literal); ok {
				n, err := strconv.Atoi(l.Text)
				if err != nil || n < 1 || n > 100 {
					return mserr.Of(129, l.Text)
				}
				ix.FillFactor = n
			}
		case "PAD_INDEX":
			ix.Padded = on
		case "STATISTICS_NORECOMPUTE":
			ix.NoRecompute = on
		case "ALLOW_ROW_LOCKS":
			ix.NoRowLocks = !on
		case "ALLOW_PAGE_LOCKS":
			ix.NoPageLocks = !on
		case "OPTIMIZE_FOR_SEQUENTIAL_KEY":
			ix.Sequential = on
		case "STATISTICS_INCREMENTAL", "SORT_IN_TEMPDB",
			"DROP_EXISTING", "ONLINE", "MAXDOP", "DATA_COMPRESSION", "XML_COMPRESSION", "RESUMABLE", "MAX_DURATION",
			"COMPRESSION_DELAY", "WAIT_AT_LOW_PRIORITY":
		default:
			return mserr.UnknownOption(o.Name, "CREATE INDEX")
		}
	}
	return nil
}

// constraintDrop executes DROP CONSTRAINT for a list of names.
type constraintDrop struct {
	b      *builder
	byName map[string]any // *catalog.Index, Check, ForeignKey, or Column with a default; nil: not known
	gone   map[any]bool   // those that finish removes
}

// drop drops a constraint.
func (d *constraintDrop) drop(item *syntax.AlterDropItem) error {
	b, name := d.b, item.Name.Name
	if d.byName == nil {
		d.byName, d.gone = b.constraints(), map[any]bool{}
	}
	key := b.t.Names().Fold(name)
	switch k := d.byName[key].(type) {
	case nil:
		if item.IfExists {
			return nil
		}
		if b.e != nil {
			if k, ok := b.d.Constraint(b.sc, name); ok && k.Table != b.t.ObjectID {
				return failure.Preceded(mserr.ConstraintElsewhere(name, b.label), mserr.DropConstraintFailed())
			}
		}
		return failure.Preceded(mserr.NotConstraint(name), mserr.DropConstraintFailed())
	case *catalog.Index:
		if f, t := b.referencing(k, d.gone); f != nil {
			return failure.Preceded(mserr.ConstraintReferenced(name, t.Name, f.Name), mserr.DropConstraintFailed())
		}
	}
	d.gone[d.byName[key]] = true
	delete(d.byName, key)
	return nil
}

// finish removes the dropped constraints.
func (d *constraintDrop) finish() {
	if d.byName == nil {
		return
	}
	t := d.b.t
	t.Indexes = slices.DeleteFunc(t.Indexes, func(ix *catalog.Index) bool { return d.gone[ix] })
	t.Checks = slices.DeleteFunc(t.Checks, func(k *catalog.Check) bool { return d.gone[k] })
	t.ForeignKeys = slices.DeleteFunc(t.ForeignKeys, func(f *catalog.ForeignKey) bool { return d.gone[f] })
	for _, c := range t.Columns {
		if d.gone[c] {
			c.Default = nil
		}
	}
	d.byName = nil
}

// constraints returns the constraints of the table by their folded names; for a default, its
// column.
func (b *builder) constraints() map[string]any {
	all := map[string]any{}
	for _, c := range b.t.Columns {
		if c.Default != nil {
			all[b.t.Names().Fold(c.Default.Name)] = c
		}
	}
	for _, f := range b.t.ForeignKeys {
		all[b.t.Names().Fold(f.Name)] = f
	}
	for _, k := range b.t.Checks {
		all[b.t.Names().Fold(k.Name)] = k
	}
	for _, ix := range b.t.Indexes {
		if ix.Key != nil {
			all[b.t.Names().Fold(ix.Key.Name)] = ix
		}
	}
	return all
}
