package exec

import (
	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/module"
)

// check finds the errors that SQL Server reports before the first statement of the unit runs, and
// collects the declarations.
func (u *unit) check(m *meter.Meter) error {
	d, err := module.Check(m, u.params, u.tableVar, u.body)
	if err != nil {
		return err
	}
	u.decls, u.declared = d.List, d.Index
	return nil
}
