package exec

import (
	"errors"
	"io"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/compile"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// insertExec is INSERT ... EXEC. The procedure runs first, inside a transaction as in SQL Server (@@TRANCOUNT is at
// least 1 there), and its rows are collected; then they are inserted.
func (r *run) insertExec(st *syntax.InsertStmt, src *syntax.InsertExec) error {
	s := r.s
	if r.inserting {
		return mserr.InsertExecNested()
	}
	if st.Output != nil || st.OutputInto != nil {
		return mserr.NotSupported("OUTPUT of INSERT ... EXEC")
	}
	if st.Top != nil {
		return mserr.NotSupported("INSERT TOP ... EXEC")
	}
	own := s.tran.level == 0
	if own {
		s.start("")
	}
	rows := int64(0)
	err := func() error {
		c, err := r.collect(func() error { return r.execStmt(src.Exec) })
		if err != nil {
			return err
		}
		for _, set := range c.sets {
			n, err := r.insertRows(st, st.Target, identNames(st.Columns), set.cols, slicesOf(set.rows))
			if err != nil {
				return err
			}
			rows += n
		}
		return nil
	}()
	if own && s.tran.level > 0 {
		if err != nil {
			return errors.Join(err, s.undo())
		}
		if err := s.keep(); err != nil {
			return err
		}
	}
	if err != nil {
		return err
	}
	return r.done(rows, false)
}

// identNames are the names of identifiers; nil for none.
func identNames(list []syntax.Ident) []string {
	if list == nil {
		return nil
	}
	out := make([]string, len(list))
	for i, id := range list {
		out[i] = id.Name
	}
	return out
}

// slicesOf yields rows one by one, then io.EOF.
func slicesOf(rows [][]types.Value) func() ([]types.Value, error) {
	i := 0
	return func() ([]types.Value, error) {
		if i >= len(rows) {
			return nil, io.EOF
		}
		i++
		return rows[i-1], nil
	}
}

// insertRows inserts rows that come from elsewhere, all or none.
func (r *run) insertRows(node syntax.Node, target syntax.TableSource, names []string, cols []types.Column, next func() ([]types.Value, error)) (int64, error) {
	dml, err := r.compiler().InsertRows(target, names, cols)
	if err != nil {
		return 0, compileFailure(err)
	}
	if err := r.refuse(dml); err != nil {
		return 0, err
	}
	n := int64(0)
	do := func() error {
		for {
			if err := r.canceled(); err != nil {
				return err
			}
			row, err := next()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			k, err := r.apply(dml, row)
			if err != nil {
				return err
			}
			n += k
		}
	}
	if dml.Database == 0 {
		err = r.changeLocalRows(dml, do)
	} else {
		err = r.atomic(dml.Databases, true, do)
	}
	return n, err
}

// changeLocalRows is changeLocal for many rows.
func (r *run) changeLocalRows(dml *compile.DML, do func() error) error {
	if dml.Target != nil && dml.Target.Name[0] == '@' && !r.s.tran.begun {
		return r.localSave(true, do)
	}
	return r.localChangeOf(true, do)
}

// bulkTarget is the table that an INSERT BULK announced.
type bulkTarget struct {
	statement *syntax.InsertBulkStmt
}

// announceBulk is INSERT BULK as a statement: the rows follow in a request of their own.
func (r *run) announceBulk(st *syntax.InsertBulkStmt) error {
	o, _, err := r.object(st.Table)
	if err != nil {
		return err
	}
	if o == nil && r.localTable(st.Table.Last()) == nil {
		return mserr.InvalidObject(st.Table.String())
	}
	r.s.bulk = &bulkTarget{st}
	return nil
}

// tableOf is a table as a target, by name.
func tableOf(n *syntax.ObjectName) syntax.TableSource { return &syntax.TableName{Name: n} }

// identityOption turns IDENTITY_INSERT on for the rows of a bulk load that bring identity values.
func (r *run) identityOption(name *syntax.ObjectName, names []string) error {
	o, d, err := r.object(name)
	if err != nil {
		return err
	}
	t, _ := o.(*catalog.Table)
	if t == nil {
		return nil
	}
	c := t.IdentityColumn()
	if c == nil {
		return nil
	}
	for _, n := range names {
		if equalNames(n, c.Name) {
			r.s.opts.identityInsert = &identityInsert{database: d.ID, object: t.ObjectID, name: name.String()}
		}
	}
	return nil
}
