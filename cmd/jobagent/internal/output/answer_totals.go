package output

import (
	"bufio"
	"context"
	"encoding/json"
	"strconv"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/terminal"
	"github.com/jobagent/jobagent/jobs/jsontree"
	"github.com/jobagent/jobagent/targets/question"
)

// AnswerTotal is what the rows of many databases add up to, for one group of them.
type AnswerTotal struct {
	Group     json.RawMessage `json:"group"`     // an object: the columns of --group-by and their values as texts
	Databases int64           `json:"databases"` // with a row in the group
	Rows      int64           `json:"rows"`      // rows in the group
	Sums      json.RawMessage `json:"sums"`      // an object: the columns of --sum and their sums
}

// Totals prints the totals of groups by these columns, with the sums of those.
func Totals(p *Printer, by, sum []string, list []*question.Total) error {
	if p.Structured() || p.Format == FormatJSONLines {
		return totalsValues(p, by, sum, list)
	}
	header := append([]string{}, by...)
	header = append(header, "databases", "rows")
	for _, name := range sum {
		header = append(header, "sum_"+name)
	}
	rows := make([][]*string, 0, len(list)) // nil is NULL
	for _, t := range list {
		row := append([]*string{}, t.Group...)
		databases, count := strconv.FormatInt(t.Databases, 10), strconv.FormatInt(t.Rows, 10)
		row = append(row, &databases, &count)
		for _, n := range t.Sums {
			if n == nil {
				row = append(row, nil)
				continue
			}
			text := n.String()
			row = append(row, &text)
		}
		rows = append(rows, row)
	}
	if p.Format == FormatCSV {
		return totalsCSV(p, header, rows)
	}
	g := &grid{}
	for i, name := range header {
		g.columns = append(g.columns, gridColumn{header: cleanCell(name), min: 8, right: i >= len(by)})
	}
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, text := range row {
			if cells[i] = "NULL"; text != nil {
				cells[i] = cleanCell(*text)
			}
		}
		g.rows = append(g.rows, cells)
	}
	return p.writeGrid(g)
}

// totalsCSV prints totals as the rows of databases: nothing for NULL.
func totalsCSV(p *Printer, header []string, rows [][]*string) error {
	out := bufio.NewWriter(p.Stdout)
	line := func(n int, cell func(i int) *string) {
		var text []byte
		for i := range n {
			if i > 0 {
				text = append(text, ',')
			}
			if v := cell(i); v != nil {
				text = appendCSVText(text, *v)
			}
		}
		out.Write(append(text, "\r\n"...))
	}
	line(len(header), func(i int) *string { return &header[i] })
	for _, row := range rows {
		line(len(row), func(i int) *string { return row[i] })
	}
	return out.Flush()
}

// totalsValues prints totals as JSON or YAML, or what --jq makes of each.
func totalsValues(p *Printer, by, sum []string, list []*question.Total) error {
	values := make([]AnswerTotal, 0, len(list))
	for _, t := range list {
		v := AnswerTotal{Databases: t.Databases, Rows: t.Rows}
		v.Group = object(by, func(i int) string {
			if t.Group[i] == nil {
				return "null"
			}
			return jsontree.Quote(*t.Group[i])
		})
		v.Sums = object(sum, func(i int) string {
			if t.Sums[i] == nil {
				return "null"
			}
			return t.Sums[i].String()
		})
		values = append(values, v)
	}
	ctx := p.Context
	if ctx == nil {
		ctx = context.Background()
	}
	switch {
	case p.Query.code != nil:
		for _, v := range values {
			if err := p.Query.write(ctx, p.Stdout, v, terminal.Is(p.Stdout)); err != nil {
				return err
			}
		}
		return nil
	case p.Format == FormatJSONLines:
		enc := json.NewEncoder(p.Stdout)
		enc.SetEscapeHTML(false)
		for _, v := range values {
			if err := enc.Encode(v); err != nil {
				return err
			}
		}
		return nil
	}
	return p.Emit(values, nil)
}

// object returns a JSON object whose values are JSON texts.
func object(names []string, value func(i int) string) json.RawMessage {
	text := []byte{'{'}
	for i, name := range names {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(text, jsontree.Quote(name)...)
		text = append(text, ':')
		text = append(text, value(i)...)
	}
	return append(text, '}')
}
