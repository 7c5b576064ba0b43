package exec

import (
	"embed"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
)

// procedureFiles contains the system procedures that are written in T-SQL over the system views.
// The name of each file is the folded name of its procedure. A file is read and parsed at the first
// call of the procedure.
//
//go:embed sysprocs/*.sql
var procedureFiles embed.FS

// textProcedure returns the system procedure in T-SQL with a name, or nil.
func (in *Instance) textProcedure(folded string) *catalog.Procedure {
	if !strings.HasPrefix(folded, "sp_") && !strings.HasPrefix(folded, "xp_") {
		return nil
	}
	in.textMu.Lock()
	defer in.textMu.Unlock()
	if p := in.procedures[folded]; p != nil {
		return p
	}
	text, err := procedureFiles.ReadFile("sysprocs/" + folded + ".sql")
	if err != nil {
		return nil // there is no such procedure
	}
	p := &catalog.Procedure{
		Header: catalog.Header{Name: folded, SchemaID: catalog.SchemaSys, Kind: catalog.KindProcedure},
		Module: catalog.Module{Text: string(text), AnsiNulls: true, QuotedIdentifier: true}, DefaultSchema: "sys",
	}
	if in.procedures == nil {
		in.procedures = map[string]*catalog.Procedure{}
	}
	in.procedures[folded] = p
	return p
}

// callText calls a system procedure that is written in T-SQL. The procedure runs in the current
// database with the permissions of the caller, without an ownership chain.
func (r *run) callText(p *catalog.Procedure, args []callArg) (int32, error) {
	if r.nesting() >= maxNesting {
		return 0, mserr.NestingLevel(maxNesting)
	}
	u, err := procedureUnit(p)
	if err != nil {
		return 0, err
	}
	f := &frame{kind: procFrame, unit: u, name: p.Name, schema: r.s.DefaultSchema(), owner: -1, nestLevel: r.nesting() + 1}
	err = r.inFrame(f, func() error {
		r.s.EnterModule(&p.Module)
		return r.callBody(f, args)
	})
	if err = r.endScope(f, err); err != nil {
		return 0, err
	}
	return f.status, r.returnOutputs(f, args)
}
