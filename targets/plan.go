package targets

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/jobagent/jobagent/jobs/wording"
)

// The bounds of a plan in a report.
const (
	// MaxPlanStatements is the number of statements in a report. Count includes the others.
	MaxPlanStatements = 50
	// MaxPlanWarnings is how many different warnings a report has.
	MaxPlanWarnings = 20
	// maxWarning bounds the text of a warning, in bytes.
	maxWarning = 300
	// maxUnpacked bounds the document of a plan, in bytes.
	maxUnpacked = 64 << 20
)

// TrialPlan is the content of the estimated plan of a batch, without text of the script.
type TrialPlan struct {
	// Count is the number of statements, those of procedures and functions included, and Statements
	// are the first [MaxPlanStatements] of them.
	Count      int             `json:"count"`
	Statements []PlanStatement `json:"statements,omitempty"`
	// Cost is the sum of the estimated costs of all statements, in the optimizer's unit.
	Cost float64 `json:"cost"`
	// Warnings are missing indexes and the warnings of the plan, each once.
	Warnings []string `json:"warnings,omitempty"`
	// XML are the documents of the server, if they were requested; see [UnpackPlan].
	XML []string `json:"xml,omitempty"`
}

// PlanStatement is a statement in a plan. Figures that are absent are not in the plan.
type PlanStatement struct {
	Type string   `json:"type"`           // SELECT, EXECUTE PROC and so on
	Rows *float64 `json:"rows,omitempty"` // estimate
	Cost *float64 `json:"cost,omitempty"` // estimate
}

// Size returns the bytes of the documents.
func (p *TrialPlan) Size() (n int) {
	for _, text := range p.XML {
		n += len(text)
	}
	return n
}

// Add adds the content of a document
// (http://schemas.microsoft.com/sqlserver/2004/07/showplan/showplanxml.xsd). After an error, p has
// a part of it.
func (p *TrialPlan) Add(document string) error {
	d := xml.NewDecoder(strings.NewReader(document))
	// The text is Unicode, whatever its declaration says.
	d.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil }
	var index missingIndex
	begun := false
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) && begun {
			return nil
		}
		if err != nil {
			return err
		}
		switch token := token.(type) {
		case xml.StartElement:
			if !begun && token.Name.Local != "ShowPlanXML" {
				return fmt.Errorf("it begins with %s, not ShowPlanXML", wording.Clip(token.Name.Local, 40, wording.Bytes))
			}
			begun = true
			p.element(element(token), &index)
		case xml.EndElement:
			if token.Name.Local == "MissingIndex" {
				p.warn(index.text())
			}
		}
	}
}

// element is an element of a document.
type element xml.StartElement

// attr returns an attribute; empty if there is none.
func (e element) attr(name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// number returns an attribute that is a finite number, or nil.
func (e element) number(name string) *float64 {
	n, err := strconv.ParseFloat(e.attr(name), 64)
	if err != nil || math.IsInf(n, 0) || math.IsNaN(n) {
		return nil
	}
	return &n
}

// is reports whether an attribute, an xsd:boolean, is true.
func (e element) is(name string) bool { return e.attr(name) == "1" || e.attr(name) == "true" }

// element adds the content of one element.
func (p *TrialPlan) element(e element, index *missingIndex) {
	switch e.Name.Local {
	case "StmtSimple", "StmtCond", "StmtCursor", "StmtReceive", "StmtUseDb":
		s := PlanStatement{Type: wording.Clip(e.attr("StatementType"), 40, wording.Bytes), Rows: e.number("StatementEstRows"), Cost: e.number("StatementSubTreeCost")}
		if s.Cost != nil {
			p.Cost = min(p.Cost+*s.Cost, math.MaxFloat64)
		}
		if p.Count++; p.Count <= MaxPlanStatements {
			p.Statements = append(p.Statements, s)
		}
	case "MissingIndexGroup":
		index.impact = e.attr("Impact")
	case "MissingIndex":
		*index = missingIndex{impact: index.impact, table: e.attr("Schema") + "." + e.attr("Table")}
	case "ColumnGroup":
		index.include = e.attr("Usage") == "INCLUDE"
	case "Column":
		index.add(e.attr("Name"))
	case "PlanAffectingConvert":
		p.warn(fmt.Sprintf("conversion affects the %s: %s", strings.ToLower(e.attr("ConvertIssue")), e.attr("Expression")))
	case "ColumnsWithNoStatistics":
		p.warn("columns without statistics")
	case "UnmatchedIndexes":
		p.warn("a filtered index cannot be used because of a parameter")
	case "Warnings":
		if e.is("NoJoinPredicate") {
			p.warn("a join has no condition")
		}
		if e.is("UnmatchedIndexes") {
			p.warn("a filtered index cannot be used because of a parameter")
		}
	}
}

// warn adds a warning, once.
func (p *TrialPlan) warn(text string) {
	text = wording.Clip(text, maxWarning, wording.Bytes)
	if len(p.Warnings) < MaxPlanWarnings && !slices.Contains(p.Warnings, text) {
		p.Warnings = append(p.Warnings, text)
	}
}

// missingIndex is an index that the optimizer misses.
type missingIndex struct {
	impact, table string
	include       bool // the following columns are included columns
	keys, others  []string
}

// add adds a column. Names beyond the bound of a warning are not kept.
func (m *missingIndex) add(name string) {
	list := &m.keys
	if m.include {
		list = &m.others
	}
	if len(*list) < maxWarning {
		*list = append(*list, name)
	}
}

func (m *missingIndex) text() string {
	s := fmt.Sprintf("missing index on %s (%s)", m.table, strings.Join(m.keys, ", "))
	if len(m.others) > 0 {
		s += fmt.Sprintf(" include (%s)", strings.Join(m.others, ", "))
	}
	return s + ", impact " + m.impact + " %"
}

// PackPlan returns a document for a report, compressed.
func PackPlan(document string) (string, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return "", err
	}
	if _, err = io.WriteString(z, document); err == nil {
		err = z.Close()
	}
	return base64.StdEncoding.EncodeToString(b.Bytes()), err
}

// UnpackPlan returns a document that PackPlan has packed. It removes the declaration, whose
// encoding does not apply to the text.
func UnpackPlan(packed string) (string, error) {
	z, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(packed)))
	if err != nil {
		return "", fmt.Errorf("unpack a plan: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(z, maxUnpacked+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("unpack a plan: %w", err)
	case len(text) > maxUnpacked:
		return "", fmt.Errorf("unpack a plan: it has more than %d MB", maxUnpacked>>20)
	}
	if _, rest, ok := strings.Cut(string(text), "?>"); ok && bytes.HasPrefix(text, []byte("<?xml")) {
		return strings.TrimLeft(rest, "\r\n"), nil
	}
	return string(text), nil
}
