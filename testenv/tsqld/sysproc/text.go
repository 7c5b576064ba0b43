package sysproc

import (
	"embed"
	"strings"
	"sync"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
)

// procedureFiles contains the system procedures that are written in T-SQL over the system views.
// The name of each file is the folded name of its procedure. A file is read and parsed at the first
// call of the procedure.
//
//go:embed texts/*.sql
var procedureFiles embed.FS

// Library has the system procedures. Its methods are safe for concurrent use.
type Library struct {
	mu sync.Mutex
	// procedures holds the procedures written in T-SQL that were called, by folded name.
	procedures map[string]*catalog.Procedure
}

// textProcedure returns the system procedure in T-SQL with a name, or nil.
func (l *Library) textProcedure(folded string) *catalog.Procedure {
	if !strings.HasPrefix(folded, "sp_") && !strings.HasPrefix(folded, "xp_") {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if p := l.procedures[folded]; p != nil {
		return p
	}
	text, err := procedureFiles.ReadFile("texts/" + folded + ".sql")
	if err != nil {
		return nil // there is no such procedure
	}
	p := &catalog.Procedure{
		Header: catalog.Header{Name: folded, SchemaID: catalog.SchemaSys, Kind: catalog.KindProcedure},
		Module: catalog.Module{Text: string(text), AnsiNulls: true, QuotedIdentifier: true}, DefaultSchema: "sys",
	}
	if l.procedures == nil {
		l.procedures = map[string]*catalog.Procedure{}
	}
	l.procedures[folded] = p
	return p
}
