package exec

import (
	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
)

// callTempProcedure executes EXECUTE #name.
func (r calls) callTempProcedure(name *syntax.ObjectName, args []callArg) (result, error) {
	p := r.s.TempProcedures[catalog.Fold(name.Last())]
	if p == nil {
		return result{}, mserr.NoProcedure(name.String())
	}
	d := r.s.DatabaseByID(p.Database)
	if d == nil {
		return result{}, mserr.NoProcedure(name.String())
	}
	return r.callProcedure(d, p.Procedure, args)
}
