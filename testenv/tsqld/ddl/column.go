package ddl

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/failure"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/session"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// builder creates the definition of a table from its syntax.
type builder struct {
	r     *Executor
	d     *catalog.Database // database for the lookup of types, names and referenced tables
	e     *catalog.Edit     // nil for temporary tables, table variables and table types
	t     *catalog.Table
	sc    string // schema of the constraints; "" if their names need not be unique
	label string // name of the table in messages
	names map[string]bool
	// nullGiven holds the columns with an explicit NULL.
	nullGiven map[*catalog.Column]bool
	// uniqueClustered is set if a UNIQUE constraint of the definition is CLUSTERED. The primary key
	// is then clustered only if it says so.
	uniqueClustered bool
}

// newID returns an object ID for a constraint.
func (b *builder) newID() int32 {
	if b.e != nil {
		return b.e.NewID()
	}
	return session.NewLocalID()
}

// name returns the name of a constraint: the given one, or a generated one.
func (b *builder) name(given syntax.Ident, prefix, column string, id int32) (name string, system bool, err error) {
	if given.Name == "" {
		return catalog.SystemName(prefix, b.t.Name, column, id), true, nil
	}
	key := b.t.Names().Fold(given.Name)
	if b.names[key] {
		return "", false, mserr.DuplicateInStatement(given.Name)
	}
	if b.e != nil && b.sc != "" && (b.d.Taken(b.sc, given.Name) || b.t.Names().Equal(given.Name, b.t.Name)) {
		return "", false, failure.Preceded(mserr.ObjectExists(given.Name).WithState(5), mserr.ConstraintNotCreated())
	}
	if b.names == nil {
		b.names = map[string]bool{}
	}
	b.names[key] = true
	return given.Name, false, nil
}

// define adds all columns, constraints and indexes of a table definition.
func (b *builder) define(def *syntax.TableDef) error {
	for _, c := range def.Columns {
		if err := b.column(c); err != nil {
			return err
		}
	}
	// Computed columns refer to other columns, so that all types must be known first.
	for _, c := range def.Columns {
		if c.Computed != nil {
			if err := b.formula(b.t.Column(c.Name.Name), c); err != nil {
				return err
			}
		}
	}
	b.uniqueClustered = slices.ContainsFunc(def.Constraints, isUniqueClustered)
	for _, c := range def.Columns {
		b.uniqueClustered = b.uniqueClustered || slices.ContainsFunc(c.Constraints, isUniqueClustered)
	}
	for _, c := range def.Columns {
		for _, k := range c.Constraints {
			if err := b.constraint(k, c.Name.Name); err != nil {
				return err
			}
		}
	}
	for _, k := range def.Constraints {
		if err := b.constraint(k, ""); err != nil {
			return err
		}
	}
	for _, c := range def.Columns {
		if c.Index != nil {
			if err := b.index(c.Index, c.Name.Name); err != nil {
				return err
			}
		}
	}
	for _, ix := range def.Indexes {
		if err := b.index(ix, ""); err != nil {
			return err
		}
	}
	return nil
}

// isUniqueClustered reports whether a constraint is UNIQUE CLUSTERED.
func isUniqueClustered(k syntax.Constraint) bool {
	key, ok := k.(*syntax.KeyConstraint)
	return ok && !key.Primary && key.Clustering == syntax.Clustered
}

// column adds a column without its constraints.
func (b *builder) column(def *syntax.ColumnDef) error {
	if err := b.work(1); err != nil {
		return err
	}
	if b.t.Column(def.Name.Name) != nil {
		return mserr.DuplicateColumn(def.Name.Name, b.label)
	}
	if len(b.t.Columns) >= mserr.MostColumns {
		return mserr.TooManyColumns(def.Name.Name, b.label)
	}
	if err := b.columnConstraints(def); err != nil {
		return err
	}
	if def.RowGUIDCol && slices.ContainsFunc(b.t.Columns, func(c *catalog.Column) bool { return c.RowGUID }) {
		return mserr.Of(8196)
	}
	c := &catalog.Column{RowGUID: def.RowGUIDCol, Sparse: def.Sparse}
	c.Name = def.Name.Name
	if def.Computed != nil {
		c.Computed, c.Nullable = true, true
		c.Formula = &catalog.Formula{}
		b.t.Columns = append(b.t.Columns, c)
		return nil
	}
	if err := b.columnType(c, def); err != nil {
		return err
	}
	if c.RowGUID && c.Type.ID != types.UniqueIdentifier {
		return mserr.Of(2761)
	}
	if err := b.nullability(c, def); err != nil {
		return err
	}
	if def.Identity != nil {
		if err := b.identity(c, def.Identity); err != nil {
			return err
		}
	}
	b.t.Columns = append(b.t.Columns, c)
	if def.Default != nil {
		return b.defaultValue(c, def.Default)
	}
	return nil
}

// columnConstraints checks that a column has one constraint of a kind. Errors: 8148, and 8151 for
// PRIMARY KEY beside UNIQUE.
func (b *builder) columnConstraints(def *syntax.ColumnDef) error {
	count := map[string]int{}
	for _, k := range def.Constraints {
		kind := "CHECK"
		switch k := k.(type) {
		case *syntax.KeyConstraint:
			if kind = "UNIQUE"; k.Primary {
				kind = "PRIMARY KEY"
			}
		case *syntax.CheckConstraint:
		default:
			continue
		}
		if count[kind]++; count[kind] > 1 {
			return mserr.Of(8148, kind, def.Name.Name, b.label)
		}
	}
	if count["PRIMARY KEY"] > 0 && count["UNIQUE"] > 0 {
		return mserr.Of(8151, def.Name.Name, b.label)
	}
	return nil
}

// columnType resolves the type and collation of a column.
func (b *builder) columnType(c *catalog.Column, def *syntax.ColumnDef) error {
	ref := def.Type
	if ref == nil {
		// A column with the name timestamp needs no type.
		ref = &syntax.TypeRef{Name: &syntax.ObjectName{Parts: []syntax.Ident{{Name: "timestamp"}}}}
	}
	t, alias, table, err := b.r.host.Compiler().Type(ref)
	switch {
	case errors.Is(err, mserr.UnknownSystemType("")):
		return mserr.UnknownType(len(b.t.Columns)+1, ref.Name.String())
	case err != nil:
		return err
	case table != nil:
		return mserr.UnknownType(len(b.t.Columns)+1, ref.Name.String())
	case alias != nil:
		t = alias.Type
		c.UserTypeID = alias.UserTypeID
		c.Nullable = alias.Nullable
	}
	c.Type = t
	if catalog.EqualNames(ref.Name.Last(), "sysname") {
		const sysnameID = 256
		c.UserTypeID = sysnameID
	}
	if t.ID == types.RowVersion && b.t.RowVersionColumn() != nil {
		return mserr.OneRowVersion(b.t.Name, c.Name)
	}
	if !t.IsCharacter() {
		if def.Collation != "" {
			return mserr.InvalidCollateType(t.Name())
		}
		return nil
	}
	c.Collation = b.d.Options.Collation
	switch {
	case def.Collation == "" && b.t.Temporary && strings.HasPrefix(b.t.Name, "#"):
		c.Collation = b.r.s.DatabaseByID(catalog.DatabaseTemp).Options.Collation // "Set or change the column collation"
	case def.Collation != "" && !catalog.EqualNames(def.Collation, "database_default"):
		c.Collation = def.Collation
	}
	if c.Collation == "" {
		c.Collation = catalog.DefaultCollation
	}
	col, ok := types.CollationByName(c.Collation)
	if !ok {
		return mserr.InvalidCollation(c.Collation)
	}
	c.Type.Collation, c.Collation = col, col.String()
	return nil
}

// nullability determines whether a column allows NULL.
func (b *builder) nullability(c *catalog.Column, def *syntax.ColumnDef) error {
	switch {
	case def.Null == syntax.NotNull:
		c.Nullable = false
	case def.Null == syntax.NullAllowed:
		c.Nullable = true
		if b.nullGiven == nil {
			b.nullGiven = map[*catalog.Column]bool{}
		}
		b.nullGiven[c] = true
		if def.Identity != nil {
			return mserr.NullableIdentity(c.Name, b.label)
		}
	case isPrimary(def):
		c.Nullable = false
	case def.Identity != nil, c.Type.ID == types.RowVersion:
		c.Nullable = false
	case c.UserTypeID != 0 && !catalog.EqualNames(def.Type.Name.Last(), "sysname"): // as in the alias type
	case def.Type != nil && catalog.EqualNames(def.Type.Name.Last(), "sysname"):
		c.Nullable = false
	default:
		c.Nullable = !b.r.s.Options.AnsiNullDefaultOff
	}
	if isPrimary(def) && c.Nullable {
		return constraintFailed(mserr.NullablePrimaryKey(b.label))
	}
	return nil
}

// isPrimary reports whether a column definition contains PRIMARY KEY.
func isPrimary(def *syntax.ColumnDef) bool {
	for _, k := range def.Constraints {
		if key, ok := k.(*syntax.KeyConstraint); ok && key.Primary {
			return true
		}
	}
	return false
}

// identity adds IDENTITY.
func (b *builder) identity(c *catalog.Column, spec *syntax.IdentitySpec) error {
	if b.t.IdentityColumn() != nil {
		return mserr.MultipleIdentity(b.label)
	}
	ok := c.Type.IsInteger() && c.Type.ID != types.Bit || c.Type.ID == types.Decimal && c.Type.Scale == 0
	if !ok || c.Nullable {
		return mserr.InvalidIdentityType(c.Name)
	}
	if c.Type.IsDecimalText() {
		return mserr.NotSupported("IDENTITY on decimal columns of more than 18 digits")
	}
	seed, err1 := strconv.ParseInt(spec.Seed, 10, 64)
	step, err2 := strconv.ParseInt(spec.Increment, 10, 64)
	if err1 != nil || err2 != nil || step == 0 {
		return mserr.Of(2753, c.Name)
	}
	c.Auto = &catalog.Identity{Seed: seed, Increment: step}
	c.Identity = true
	return nil
}

// defaultValue adds DEFAULT.
func (b *builder) defaultValue(c *catalog.Column, def *syntax.DefaultConstraint) error {
	if c.Default != nil {
		return failure.Preceded(mserr.DefaultExists(), mserr.ConstraintNotCreated().WithState(0))
	}
	if c.Auto != nil {
		return failure.Preceded(
			mserr.Of(1754, b.label, c.Name),
			mserr.ConstraintNotCreated())
	}
	if c.Type.ID == types.RowVersion {
		return failure.Preceded(
			mserr.Of(1755, b.label, c.Name),
			mserr.ConstraintNotCreated().WithState(0))
	}
	constant := ""
	switch plain := plainNewSequential(def.Value); {
	case hasQuery(def.Value):
		return mserr.SubqueryNotAllowed()
	case !plain:
		if ref := firstColumn(def.Value); ref != nil {
			return failure.At(mserr.NotAllowedHere(ref.Column()), ref)
		}
		var err error
		if constant, err = b.r.host.Compiler().Default(def.Value, c.Type); err != nil {
			return err
		}
	case c.Type.ID != types.UniqueIdentifier:
		return mserr.NewSequentialID()
	}
	id := b.newID()
	name, system, err := b.name(def.Name, "DF", c.Name, id)
	if err != nil {
		return err
	}
	c.Default = &catalog.Default{
		ObjectID: id, Name: name, System: system, Text: b.definitionText(def.Value), Created: b.r.s.Datetime(), SQL: constant,
	}
	return nil
}

// firstColumn returns the first name of a column in an expression, or nil.
func firstColumn(e syntax.Expr) (ref *syntax.ColumnRef) {
	syntax.Inspect(e, func(n syntax.Node) bool {
		if c, ok := n.(*syntax.ColumnRef); ok && ref == nil {
			ref = c
		}
		return ref == nil
	})
	return ref
}

// hasQuery reports whether an expression contains a query.
func hasQuery(e syntax.Expr) (has bool) {
	syntax.Inspect(e, func(n syntax.Node) bool {
		_, query := n.(*syntax.Query)
		has = has || query
		return !has
	})
	return has
}

// plainNewSequential reports whether an expression is NEWSEQUENTIALID(), which is allowed only in
// defaults.
func plainNewSequential(e syntax.Expr) bool {
	f, ok := unparen(e).(*syntax.FuncCall)
	return ok && f.Name != nil && catalog.EqualNames(f.Name.Last(), "NEWSEQUENTIALID")
}

// mayOverflow reports whether an expression computes a number or converts. A computed column with
// such an expression is nullable even if its operands are not: "possible underflows or overflows
// also produce NULL results" (documentation of computed columns).
func mayOverflow(e syntax.Expr, t types.Type) bool {
	switch e := e.(type) {
	case *syntax.ParenExpr:
		return mayOverflow(e.X, t)
	case *syntax.CastExpr, *syntax.ConvertExpr:
		return true
	case *syntax.BinaryExpr:
		return t.IsNumber() || mayOverflow(e.X, t) || mayOverflow(e.Y, t)
	}
	return false
}

// formula adds the expression of a computed column.
func (b *builder) formula(c *catalog.Column, def *syntax.ColumnDef) error {
	for _, col := range b.t.Columns {
		if col.Formula == nil && col.SQLName == "" {
			catalog.Number(b.t)
			break
		}
	}
	t, nullable, sql, err := b.r.host.Compiler().Formula(b.t, def.Computed)
	if err != nil {
		return err
	}
	c.Type, c.Nullable = t, nullable || mayOverflow(def.Computed, t)
	if def.Null == syntax.NotNull {
		if !def.Persisted {
			return mserr.Of(8183)
		}
		c.Nullable = false
	}
	if t.IsCharacter() {
		c.Collation = b.d.Options.Collation
		if own, _ := types.CollationByName(c.Collation); own != t.Collation {
			c.Collation = t.Collation.String()
		}
	}
	if def.Persisted && sql == "" {
		return mserr.Of(4936, c.Name, b.label)
	}
	c.Formula.Text = b.definitionText(def.Computed)
	c.Formula.Persisted, c.Formula.SQL = def.Persisted, sql
	return nil
}
