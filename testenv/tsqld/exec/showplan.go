package exec

import (
	"encoding/xml"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
	"github.com/jobagent/jobagent/testenv/tsqld/unit"
)

// planXML is the document that SET SHOWPLAN_XML ON returns in place of running a batch
// (http://schemas.microsoft.com/sqlserver/2004/07/showplan). It has the statements only: SQLite
// estimates neither rows nor costs.
type planXML struct {
	XMLName    xml.Name      `xml:"http://schemas.microsoft.com/sqlserver/2004/07/showplan ShowPlanXML"`
	Version    string        `xml:"Version,attr"`
	Build      string        `xml:"Build,attr"`
	Statements planStatement `xml:"BatchSequence>Batch>Statements"`
}

// planStatement is a list of statements, StmtSimple, or StmtCond for IF and WHILE.
type planStatement struct {
	List []any
}

// simplePlan is StmtSimple.
type simplePlan struct {
	XMLName xml.Name `xml:"StmtSimple"`
	ID      int      `xml:"StatementId,attr"`
	Text    string   `xml:"StatementText,attr"`
	Type    string   `xml:"StatementType,attr"`
}

// condPlan is StmtCond.
type condPlan struct {
	XMLName   xml.Name       `xml:"StmtCond"`
	ID        int            `xml:"StatementId,attr"`
	Text      string         `xml:"StatementText,attr"`
	Type      string         `xml:"StatementType,attr"`
	Condition struct{}       `xml:"Condition"`
	Then      planStatement  `xml:"Then>Statements"`
	Else      *planStatement `xml:"Else>Statements,omitempty"`
}

// showPlanColumn is the only column of the answer. SQL Server gives it this name.
var showPlanColumn = []types.Column{{Name: "Microsoft SQL Server 2005 XML Showplan", Type: types.NVarCharMax, Nullable: true}}

// setsShowPlan reports whether a batch is SET SHOWPLAN_XML, which runs also while it is ON. The
// parser has made sure that it is alone.
func setsShowPlan(u *unit.Unit) bool {
	if len(u.Body) != 1 {
		return false
	}
	set, ok := u.Body[0].(*syntax.SetOptionStmt)
	return ok && len(set.Options) == 1 && set.Options[0] == "SHOWPLAN_XML"
}

// showPlan returns the plan of a batch, and runs nothing of it
// (https://learn.microsoft.com/sql/t-sql/statements/set-showplan-xml-transact-sql).
func (r queries) showPlan(u *unit.Unit) error {
	d := r.s.DatabaseByID(r.s.DatabaseID)
	if d != nil && !r.s.MayDatabase("SHOWPLAN") {
		return mserr.DatabasePermission("SHOWPLAN", d.Name)
	}
	p := planner{text: u.Text}
	doc, err := xml.Marshal(planXML{Version: "1.539", Build: "15.0.2000.5", Statements: p.list(u.Body)})
	if err != nil {
		return err
	}
	if err := r.s.Meter().Take(len(doc)); err != nil {
		return err
	}
	err = systemCalls(r).sendAll(showPlanColumn, [][]types.Value{{string(doc)}})
	return err
}

// planner numbers the statements of a batch.
type planner struct {
	text string
	last int
}

// list returns the plans of statements, with those in blocks in their places.
func (p *planner) list(stmts []syntax.Stmt) (l planStatement) {
	for _, st := range stmts {
		switch st := st.(type) {
		case *syntax.BlockStmt:
			l.List = append(l.List, p.list(st.Body).List...)
		case *syntax.TryStmt:
			l.List = append(l.List, p.list(st.Try).List...)
			l.List = append(l.List, p.list(st.Catch).List...)
		case *syntax.IfStmt:
			c := p.cond(st, st.Then)
			if st.Else != nil {
				other := p.list([]syntax.Stmt{st.Else})
				c.Else = &other
			}
			l.List = append(l.List, c)
		case *syntax.WhileStmt:
			l.List = append(l.List, p.cond(st, st.Body))
		default:
			p.last++
			text := p.text[st.Start():st.End()]
			l.List = append(l.List, simplePlan{ID: p.last, Text: text, Type: planType(st, text)})
		}
	}
	return l
}

// cond returns the plan of IF or WHILE with its first branch. Its text ends before this branch.
func (p *planner) cond(st, then syntax.Stmt) *condPlan {
	p.last++
	c := &condPlan{ID: p.last, Text: strings.TrimSpace(p.text[st.Start():then.Start()]), Type: "COND"}
	c.Then = p.list([]syntax.Stmt{then})
	return c
}

// planType returns the StatementType: the first words of the statement, as SQL Server has them for
// the frequent ones.
func planType(st syntax.Stmt, text string) string {
	switch st := st.(type) {
	case *syntax.SetVarStmt:
		return "ASSIGN"
	case *syntax.ExecStmt:
		return "EXECUTE PROC"
	case *syntax.SelectStmt:
		return "SELECT"
	case *syntax.SetOptionStmt:
		return "SET " + strings.Join(st.Options, ", ")
	}
	words := strings.Fields(strings.ToUpper(text))
	for i, w := range words {
		words[i] = strings.TrimRight(w, ";")
	}
	switch {
	case len(words) == 0:
		return "UNKNOWN"
	case len(words) > 1 && (words[0] == "CREATE" || words[0] == "ALTER" || words[0] == "DROP"):
		return words[0] + " " + words[1]
	}
	return words[0]
}
