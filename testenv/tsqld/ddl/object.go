package ddl

import (
	"errors"
	"math"
	"math/big"
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

// createType executes CREATE TYPE.
func (r *Executor) createType(st *syntax.CreateTypeStmt) error {
	d, schema, err := r.moduleTarget(st.Name, "CREATE TYPE")
	if err != nil {
		return err
	}
	name := st.Name.Last()
	if err := r.s.MayCreate(d, "CREATE TYPE", schema); err != nil {
		return err
	}
	return r.s.Alter(r.ctx, d, func(d *catalog.Database, e *catalog.Edit) error {
		if d.AliasType(schema, name) != nil || d.TableType(schema, name) != nil || types.Known(name) {
			return mserr.Of(219, st.Name.String())
		}
		id := d.Schema(schema).ID
		if st.Table == nil {
			t, alias, table, err := r.host.Compiler().Type(st.From)
			if errors.Is(err, mserr.UnknownSystemType("")) || err == nil && (alias != nil || table != nil) {
				return mserr.Of(222, st.From.Name.String())
			}
			if err != nil {
				return err
			}
			e.PutAlias(&catalog.AliasType{SchemaID: id, Name: name, Type: t, Nullable: st.Null != syntax.NotNull})
			return nil
		}
		t, err := r.LocalDefinition(name, st.Table)
		if err != nil {
			return err
		}
		return e.Put(&catalog.TableType{
			Header: catalog.Header{SchemaID: id, Name: name, Kind: catalog.KindTableType}, Table: t,
		})
	})
}

// createSynonym executes CREATE SYNONYM.
func (r *Executor) createSynonym(st *syntax.CreateSynonymStmt) error {
	d, schema, err := r.moduleTarget(st.Name, "CREATE SYNONYM")
	if err != nil {
		return err
	}
	if err := r.s.MayCreate(d, "CREATE SYNONYM", schema); err != nil {
		return err
	}
	name := st.Name.Last()
	return r.s.Alter(r.ctx, d, func(d *catalog.Database, e *catalog.Edit) error {
		if d.Taken(schema, name) {
			return mserr.ObjectExists(name)
		}
		base := ""
		for i, p := range st.Target.Parts {
			if i > 0 {
				base += "."
			}
			if p.Name != "" {
				base += syntax.QuoteName(p.Name)
			}
		}
		return e.Put(&catalog.Synonym{
			Header: catalog.Header{SchemaID: d.Schema(schema).ID, Name: name, Kind: catalog.KindSynonym}, Base: base,
		})
	})
}

// createSchema executes CREATE SCHEMA.
func (r *Executor) createSchema(st *syntax.CreateSchemaStmt) error {
	s := r.s
	d := s.DatabaseByID(s.DatabaseID)
	if !s.MayDatabase("CREATE SCHEMA") {
		return failure.Preceded(mserr.DatabasePermission("CREATE SCHEMA", d.Name), mserr.CreateSchemaFailed())
	}
	owner := s.Principal(d)
	name := st.Name.Name
	if st.Authorization.Name != "" {
		p := d.Principals.Find(st.Authorization.Name)
		if p == nil {
			return failure.Preceded(mserr.CannotFind("find", "user", st.Authorization.Name), mserr.CreateSchemaFailed())
		}
		owner = p.ID
		if name == "" {
			name = p.Name
		}
	}
	return r.s.Atomic(r.ctx, session.Scope{Databases: []int{d.ID}, Several: true}, func() error {
		err := r.s.Alter(r.ctx, d, func(d *catalog.Database, e *catalog.Edit) error {
			if d.Schema(name) != nil {
				return failure.Preceded(mserr.ObjectExists(name), mserr.CreateSchemaFailed())
			}
			e.AddSchema(name, owner)
			return nil
		})
		if err != nil {
			return err
		}
		return r.host.InSchema(name, func() error {
			place, created := r.place.Schema, r.created
			r.place.Schema, r.created = name, name
			defer func() { r.place.Schema, r.created = place, created }()
			for _, el := range schemaElements(st.Elements) {
				if err := r.Execute(el); err != nil {
					return elementError(err)
				}
			}
			return nil
		})
	})
}

// elementError adds error 2759 to the error of an element, unless the element is not supported.
func elementError(err error) error {
	var several *failure.Error
	var e *mserr.Error
	if errors.As(err, &several) && several.Before != nil || !errors.As(err, &e) || failure.NotSupported(e) {
		return err
	}
	return failure.Preceded(e, mserr.CreateSchemaFailed())
}

// schemaElements returns the elements of CREATE SCHEMA in an order in which each may name the
// others: tables, then views, then permissions. Views and tables keep their order.
func schemaElements(elements []syntax.Stmt) []syntax.Stmt {
	rank := func(st syntax.Stmt) int {
		switch st.(type) {
		case *syntax.CreateTableStmt:
			return 0
		case *syntax.CreateViewStmt:
			return 1
		}
		return 2
	}
	out := slices.Clone(elements)
	slices.SortStableFunc(out, func(a, b syntax.Stmt) int { return rank(a) - rank(b) })
	return out
}

// alterSchema executes ALTER SCHEMA ... TRANSFER.
func (r *Executor) alterSchema(st *syntax.AlterSchemaStmt) error {
	if st.Class == "TYPE" {
		return mserr.NotSupported("ALTER SCHEMA TRANSFER of a type")
	}
	o, d, err := r.object(st.Object)
	if err != nil {
		return err
	}
	if o == nil || !r.s.MayAlter(d, o) {
		return mserr.CannotFind("find", "object", st.Object.Last())
	}
	return r.s.Alter(r.ctx, d, func(d *catalog.Database, e *catalog.Edit) error {
		sc := d.Schema(st.Name.Name)
		if sc == nil {
			return mserr.CannotFind("alter", "schema", st.Name.Name)
		}
		if d.Taken(sc.Name, o.Head().Name) {
			return mserr.Of(15530, o.Head().Name)
		}
		return r.moveObject(e, d.ObjectByID(o.Head().ObjectID), func(h *catalog.Header) { h.SchemaID = sc.ID })
	})
}

// moveObject changes the schema, name or owner in the header of an object.
func (r *Executor) moveObject(e *catalog.Edit, o catalog.Object, change func(h *catalog.Header)) error {
	switch o := o.(type) {
	case *catalog.Table:
		c := catalog.Clone(o)
		change(&c.Header)
		return e.ReplaceTable(c, nil)
	case *catalog.View:
		return moved(e, catalog.Clone(o), change)
	case *catalog.Procedure:
		return moved(e, catalog.Clone(o), change)
	case *catalog.Function:
		return moved(e, catalog.Clone(o), change)
	case *catalog.Sequence:
		return moved(e, catalog.Clone(o), change)
	case *catalog.Synonym:
		c := *o
		return moved(e, &c, change)
	case *catalog.TableType:
		c := *o
		return moved(e, &c, change)
	}
	return mserr.NotSupported("moving this kind of object")
}

// moved stores an object with another header.
func moved(e *catalog.Edit, o catalog.Object, change func(h *catalog.Header)) error {
	change(o.Head())
	return e.Put(o)
}

// sequence executes CREATE and ALTER SEQUENCE.
func (r *Executor) sequence(st *syntax.SequenceStmt) error {
	if st.Verb == syntax.Alter {
		return r.alterSequence(st)
	}
	d, schema, err := r.moduleTarget(st.Name, "CREATE SEQUENCE")
	if err != nil {
		return err
	}
	if err := r.s.MayCreate(d, "CREATE SEQUENCE", schema); err != nil {
		return err
	}
	name := st.Name.Last()
	q := &catalog.Sequence{Type: types.BigIntType, Increment: big.NewInt(1), Cache: 50}
	q.Name, q.Kind = name, catalog.KindSequence
	if st.Type != nil {
		t, alias, _, err := r.host.Compiler().Type(st.Type)
		if err != nil {
			return err
		}
		if q.Type = t; alias != nil {
			q.Type, q.UserTypeID = alias.Type, alias.UserTypeID
		}
	}
	if q.Type.ID == types.Bit || !q.Type.IsInteger() && (q.Type.ID != types.Decimal || q.Type.Scale != 0) {
		return mserr.Of(11702, name)
	}
	q.Min, q.Max = sequenceRange(q.Type)
	if err := sequenceBounds(q, st); err != nil {
		return err
	}
	q.Start = q.Min
	if q.Increment.Sign() < 0 {
		q.Start = q.Max
	}
	if st.StartWith != "" {
		if q.Start, err = sequenceNumber(st.StartWith); err != nil {
			return err
		}
	}
	if q.Start.Cmp(q.Min) < 0 || q.Start.Cmp(q.Max) > 0 {
		return mserr.Of(11703, name)
	}
	return r.s.Alter(r.ctx, d, func(d *catalog.Database, e *catalog.Edit) error {
		if d.Taken(schema, name) {
			return mserr.ObjectExists(name)
		}
		q.SchemaID = d.Schema(schema).ID
		err := e.Put(q)
		r.s.Server.ResetCounter(session.CounterKey{Database: d.ID, Object: q.ObjectID})
		return err
	})
}

// sequenceRange returns the range of a sequence of a type.
func sequenceRange(t types.Type) (low, high *big.Int) {
	if t.ID == types.Decimal {
		high = new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(t.Precision)), nil)
		high.Sub(high, big.NewInt(1))
		return new(big.Int).Neg(high), high
	}
	from, to := session.IntegerRange(t)
	return big.NewInt(from), big.NewInt(to)
}

// sequenceNumber parses a number of CREATE and ALTER SEQUENCE.
func sequenceNumber(text string) (*big.Int, error) {
	n, ok := new(big.Int).SetString(text, 10)
	if !ok || len(strings.TrimLeft(text, "+-")) > 38 {
		return nil, mserr.NumberOutOfRange(text)
	}
	return n, nil
}

// sequenceBounds sets the options that CREATE and ALTER SEQUENCE share.
func sequenceBounds(q *catalog.Sequence, st *syntax.SequenceStmt) error {
	low, high := sequenceRange(q.Type)
	for _, o := range []struct {
		text string
		to   **big.Int
	}{{st.Step, &q.Increment}, {st.Min, &q.Min}, {st.Max, &q.Max}} {
		if o.text == "" {
			continue
		}
		n, err := sequenceNumber(o.text)
		if err != nil {
			return err
		}
		if o.to != &q.Increment && (n.Cmp(low) < 0 || n.Cmp(high) > 0) {
			return mserr.NumberOutOfRange(o.text)
		}
		*o.to = n
	}
	if st.NoMin {
		q.Min = low
	}
	if st.NoMax {
		q.Max = high
	}
	if q.Increment.Sign() == 0 {
		return mserr.Of(11700, q.Name)
	}
	if q.Min.Cmp(q.Max) >= 0 {
		return mserr.Of(11705, q.Name)
	}
	if new(big.Int).Sub(q.Max, q.Min).CmpAbs(q.Increment) < 0 {
		return mserr.Of(11701, q.Name)
	}
	if st.Cycle {
		q.Cycle = true
	}
	if st.NoCycle {
		q.Cycle = false
	}
	if st.NoCache {
		q.Cache = 0
	}
	if st.Cache != "" {
		n, err := strconv.Atoi(st.Cache)
		if err != nil || n < 1 || n > math.MaxInt32 {
			return mserr.Of(11706, q.Name)
		}
		q.Cache = n
	}
	return nil
}

// alterSequence executes ALTER SEQUENCE.
func (r *Executor) alterSequence(st *syntax.SequenceStmt) error {
	o, d, err := r.object(st.Name)
	if err != nil {
		return err
	}
	q, ok := o.(*catalog.Sequence)
	if !ok || !r.s.MayAlter(d, q) {
		return mserr.NotSequence(st.Name.String())
	}
	return r.s.Alter(r.ctx, d, func(d *catalog.Database, e *catalog.Edit) error {
		now, ok := d.ObjectByID(q.ObjectID).(*catalog.Sequence)
		if !ok {
			return mserr.NotSequence(st.Name.String())
		}
		c := catalog.Clone(now)
		if err := sequenceBounds(c, st); err != nil {
			return err
		}
		if st.Restart {
			if st.StartWith != "" {
				if c.Start, err = sequenceNumber(st.StartWith); err != nil {
					return err
				}
			}
			r.s.Server.SetCounter(session.CounterKey{Database: d.ID, Object: c.ObjectID}, session.SequenceCounter(c.Start, false))
			sql := "UPDATE " + d.SQLName() + "." + catalog.SequenceTable + " SET current = ?2, used = 0 WHERE object_id = ?1"
			args := []types.Value{int64(c.ObjectID), catalog.StoredSequence(c.Start)}
			if _, err := r.s.Conn.Exec(r.ctx, sql, args); err != nil {
				return err
			}
		}
		return e.Put(c)
	})
}
