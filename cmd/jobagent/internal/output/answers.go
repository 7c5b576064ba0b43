package output

import (
	"bufio"
	"bytes"
	"context"
	"database/sql/driver"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/terminal"
	"github.com/jobagent/jobagent/jobs/jsontree"
	"github.com/jobagent/jobagent/jobs/wording"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/mssql"
	"github.com/jobagent/jobagent/targets/question"
)

// AnswerRow is a row that a database returned.
type AnswerRow struct {
	Server    string          `json:"server_name"`
	Database  string          `json:"database_name"`
	ResultSet int             `json:"result_set"` // its number among those of the database, from 1
	Shape     int             `json:"shape"`      // from 1: rows of one number have the same result set and columns
	Row       json.RawMessage `json:"row"`        // an object: the columns and their values
}

// Answers prints the answers of many databases while they come, in the format of -o. Result sets
// whose columns differ are not mixed: JSON and YAML number them, and tables and CSV have one part
// for each, of which the first is printed at once and the others at the end. It is a
// [question.Sink].
type Answers struct {
	// Said takes the messages; nil drops them.
	Said func(t targets.Target, m targets.Message)

	p       *Printer
	encoded bool // rows are bytes: all formats but the table
	cuts    bool // the table has the width of a terminal
	stop    chan struct{}
	ticking sync.WaitGroup

	setsMu sync.Mutex
	sets   map[*answerSet]struct{} // that may hold rows back

	mu     sync.Mutex
	byKey  map[string]*answerShape
	shapes []*answerShape
	begun  bool // JSON: a row was written
	later  later
	failed error // of writing: nothing more is printed
}

// answerShape are the result sets with the same number and the same columns.
type answerShape struct {
	number int
	set    int // number of the result set
	names  []string
	fields []string // of JSON: with quotation marks and colon
	rights []bool   // columns of numbers

	databases int
	rows      int64
	table     *answerTable
}

// The most that is held back.
const (
	// heldBytes are the bytes of one target's rows that are written together. A larger row is not
	// held at all.
	heldBytes = 32 << 10
	// heldRows and heldCells bound the rows of a table whose widths are not known yet.
	heldRows, heldCells = 500, 256 << 10
	// heldTime is how long a row is held back.
	heldTime = 100 * time.Millisecond
	// maxShapes bounds the memory for result sets that differ.
	maxShapes = 2000
	// maxCell is the number of characters to which a table on a terminal cuts a value.
	maxCell = 500
	// maxColumn is the number of cells to which a value makes a column wider. A longer one moves
	// what is behind it in its line.
	maxColumn = 200
)

// NewAnswers returns a printer of answers. The caller calls Close.
func NewAnswers(p *Printer) *Answers {
	a := &Answers{
		p: p, encoded: p.Structured() || p.Format == FormatCSV || p.Format == FormatJSONLines,
		stop: make(chan struct{}), sets: map[*answerSet]struct{}{}, byKey: map[string]*answerShape{},
	}
	_, _, isTerminal := terminal.Size(p.Stdout)
	a.cuts = isTerminal && p.Format != FormatWide
	a.ticking.Go(func() {
		ticker := time.NewTicker(heldTime)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				a.flush()
			case <-a.stop:
				return
			}
		}
	})
	return a
}

// flush writes what is held back. Errors are kept for the next row.
func (a *Answers) flush() {
	a.setsMu.Lock()
	list := make([]*answerSet, 0, len(a.sets))
	for s := range a.sets {
		list = append(list, s)
	}
	a.setsMu.Unlock()
	for _, s := range list {
		s.mu.Lock()
		_ = s.write() // a.failed has it
		s.mu.Unlock()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, s := range a.shapes {
		if s.table != nil && a.failed == nil {
			a.failed = s.table.flush()
		}
	}
}

// Message implements [question.Sink].
func (a *Answers) Message(t targets.Target, m targets.Message) {
	if a.Said != nil {
		a.Said(t, m)
	}
}

// Begin implements [question.Sink].
func (a *Answers) Begin(t targets.Target, number int, columns []mssql.Column) (question.Rows, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	shape := a.shapeOf(number, columns)
	if shape == nil {
		return nil, &question.TargetError{Err: fmt.Errorf("result set %d: there are more than %d kinds of result sets", number, maxShapes)}
	}
	shape.databases++
	if a.failed == nil && shape.number == 1 && shape.databases == 1 && a.p.Format == FormatCSV && !a.p.Structured() {
		a.failed = a.write(shape.csvHead())
	}
	s := &answerSet{to: a, shape: shape, columns: columns, server: t.Server, database: t.Database}
	s.head = fmt.Appendf(nil, `{"server_name":%s,"database_name":%s,"result_set":%d,"shape":%d,"row":{`,
		jsontree.Quote(t.Server), jsontree.Quote(t.Database), number, shape.number)
	a.setsMu.Lock()
	a.sets[s] = struct{}{}
	a.setsMu.Unlock()
	return s, a.failed
}

// shapeOf returns the shape of a result set. Types of the same kind make no difference: one
// database may have an INT where another has a BIGINT. It is nil if there are too many. a.mu must
// be held.
func (a *Answers) shapeOf(number int, columns []mssql.Column) *answerShape {
	key := strconv.AppendInt(nil, int64(number), 10)
	for _, c := range columns {
		key = fmt.Appendf(key, "\x00%s\x00%s", c.Name, c.Kind())
	}
	if s := a.byKey[string(key)]; s != nil || len(a.shapes) == maxShapes {
		return s
	}
	s := &answerShape{number: len(a.shapes) + 1, set: number}
	seen := map[string]bool{}
	for i, c := range columns {
		s.names = append(s.names, c.Name)
		s.rights = append(s.rights, c.Kind() == mssql.KindNumber || c.Kind() == mssql.KindBit)
		name := c.Name
		if name == "" {
			name = fmt.Sprintf("column_%d", i+1)
		}
		for n, base := 2, name; seen[name]; n++ {
			name = fmt.Sprintf("%s_%d", base, n)
		}
		seen[name] = true
		s.fields = append(s.fields, jsontree.Quote(name)+":")
	}
	if !a.encoded {
		s.table = newAnswerTable(a.p, s)
	}
	a.byKey[string(key)] = s
	a.shapes = append(a.shapes, s)
	return s
}

// write writes to stdout; a.mu must be held.
func (a *Answers) write(text []byte) error {
	_, err := a.p.Stdout.Write(text)
	return err
}

// take writes the rows of one target; a.mu must be held.
func (a *Answers) take(shape *answerShape, text []byte, cells [][]string) error {
	switch {
	case a.failed != nil:
	case shape.number > 1 && (!a.encoded || a.p.Format == FormatCSV && !a.p.Structured()):
		if !a.encoded {
			if text, a.failed = json.Marshal(cells); a.failed != nil {
				return a.failed
			}
		}
		a.failed = a.later.add(shape.number, text)
	case !a.encoded:
		a.failed = shape.table.add(cells)
	case a.p.Format == FormatJSON && a.p.Query.code == nil:
		if !a.begun {
			a.failed = a.write([]byte("[\n"))
		} else {
			a.failed = a.write([]byte(",\n"))
		}
		a.begun = true
		if a.failed == nil {
			a.failed = a.write(text)
		}
	default:
		a.begun = true
		a.failed = a.write(text)
	}
	return a.failed
}

// Close writes what was held back, and the parts of other shapes. It returns the first error of
// writing.
func (a *Answers) Close() error {
	close(a.stop)
	a.ticking.Wait()
	a.flush()
	a.mu.Lock()
	defer a.mu.Unlock()
	defer a.later.close()
	if a.failed != nil {
		return a.failed
	}
	switch {
	case a.p.Query.code != nil:
		return nil
	case a.p.Format == FormatJSON && a.begun:
		return a.write([]byte("\n]\n"))
	case (a.p.Format == FormatJSON || a.p.Format == FormatYAML) && !a.begun:
		return a.write([]byte("[]\n"))
	case a.encoded && a.p.Format != FormatCSV:
		return nil
	}
	for _, s := range a.shapes {
		if s.number > 1 && s.rows > 0 {
			if err := a.part(s); err != nil {
				return err
			}
		}
	}
	return nil
}

// part prints the rows of a shape that were kept for the end.
func (a *Answers) part(s *answerShape) error {
	if a.p.Format == FormatCSV {
		if err := a.write(append([]byte("\r\n"), s.csvHead()...)); err != nil {
			return err
		}
		return a.later.each(s.number, a.write)
	}
	other := ""
	for _, before := range a.shapes[:s.number-1] {
		if before.set == s.set {
			other = " with other columns,"
		}
	}
	title := fmt.Sprintf("\nResult set %d%s of %s:\n", s.set, other, wording.Count(s.databases, "database"))
	if err := a.write([]byte(title)); err != nil {
		return err
	}
	err := a.later.each(s.number, func(text []byte) error {
		var cells [][]string
		if err := json.Unmarshal(text, &cells); err != nil {
			return err
		}
		return s.table.add(cells)
	})
	if err != nil {
		return err
	}
	return s.table.flush()
}

// answerSet takes the rows of one result set of a target.
type answerSet struct {
	to               *Answers
	shape            *answerShape
	columns          []mssql.Column
	server, database string
	head             []byte // of a row in JSON

	mu    sync.Mutex
	text  []byte
	cells [][]string
	held  int // rows
	size  int // bytes of cells
}

// Row implements [question.Rows].
func (s *answerSet) Row(row []driver.Value) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	size := 0
	for _, v := range row {
		switch v := v.(type) {
		case string:
			size += len(v)
		case []byte:
			size += 2 * len(v)
		}
	}
	if size > heldBytes { // one large row at a time
		if err := s.write(); err != nil {
			return err
		}
		s.to.mu.Lock()
		defer s.to.mu.Unlock()
		if err := s.encode(row); err != nil {
			return err
		}
		return s.pass()
	}
	if err := s.encode(row); err != nil {
		return err
	}
	if s.size += size; len(s.text) >= heldBytes || s.size >= heldBytes || len(s.cells) >= heldRows {
		return s.write()
	}
	return nil
}

// encode appends a row to what is held; s.mu must be held.
func (s *answerSet) encode(row []driver.Value) error {
	s.held++
	p := s.to.p
	switch {
	case !s.to.encoded:
		s.cells = append(s.cells, s.cellsOf(row))
	case p.Format == FormatCSV && !p.Structured():
		s.text = s.appendCSV(s.text, row)
	case p.Query.code != nil:
		var out bytes.Buffer
		ctx := p.Context
		if ctx == nil {
			ctx = context.Background()
		}
		if err := p.Query.write(ctx, &out, json.RawMessage(s.appendJSON(nil, row)), terminal.Is(p.Stdout)); err != nil {
			return err
		}
		s.text = append(s.text, out.Bytes()...)
	case p.Format == FormatYAML:
		var out bytes.Buffer
		if err := WriteYAML(&out, []json.RawMessage{s.appendJSON(nil, row)}); err != nil {
			return err
		}
		s.text = append(s.text, out.Bytes()...)
	case p.Format == FormatJSON:
		if len(s.text) > 0 {
			s.text = append(s.text, ",\n"...)
		}
		s.text = s.appendJSON(append(s.text, "  "...), row)
	default:
		s.text = append(s.appendJSON(s.text, row), '\n')
	}
	return nil
}

// write passes on what is held; s.mu must be held.
func (s *answerSet) write() error {
	if s.held == 0 {
		return nil
	}
	s.to.mu.Lock()
	defer s.to.mu.Unlock()
	return s.pass()
}

// pass is write; s.to.mu must be held as well.
func (s *answerSet) pass() error {
	if s.held == 0 {
		return nil
	}
	s.shape.rows += int64(s.held)
	err := s.to.take(s.shape, s.text, s.cells)
	s.held, s.size, s.cells = 0, 0, nil
	if s.text = s.text[:0]; cap(s.text) > 4*heldBytes {
		s.text = nil
	}
	return err
}

// End implements [question.Rows].
func (s *answerSet) End(error) error {
	s.to.setsMu.Lock()
	delete(s.to.sets, s)
	s.to.setsMu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.to.mu.Lock()
	defer s.to.mu.Unlock()
	if err := s.pass(); err != nil {
		return err
	}
	return s.to.failed
}

// appendJSON appends a row as an [AnswerRow].
func (s *answerSet) appendJSON(to []byte, row []driver.Value) []byte {
	to = append(to, s.head...)
	for i, v := range row {
		if i > 0 {
			to = append(to, ',')
		}
		to = s.columns[i].AppendJSON(append(to, s.shape.fields[i]...), v)
	}
	return append(to, "}}"...)
}

// appendCSV appends a row as a line of CSV: nothing for NULL, and "" for an empty text.
func (s *answerSet) appendCSV(to []byte, row []driver.Value) []byte {
	to = append(appendCSVText(to, s.server), ',')
	to = appendCSVText(to, s.database)
	for i, v := range row {
		to = append(to, ',')
		if v != nil {
			to = appendCSVText(to, s.columns[i].Text(v))
		}
	}
	return append(to, "\r\n"...)
}

// appendCSVText appends a value of CSV that no spreadsheet takes for a formula.
func appendCSVText(to []byte, value string) []byte {
	value = strings.ToValidUTF8(inert(value), "\uFFFD")
	if value != "" && !strings.ContainsAny(value, "\",\r\n") && strings.TrimSpace(value) == value {
		return append(to, value...)
	}
	to = append(to, '"')
	to = append(to, strings.ReplaceAll(value, `"`, `""`)...)
	return append(to, '"')
}

// csvHead returns the header of CSV.
func (s *answerShape) csvHead() []byte {
	to := []byte(question.ServerColumn + "," + question.DatabaseColumn)
	for i, name := range s.names {
		if name == "" {
			name = fmt.Sprintf("column_%d", i+1)
		}
		to = appendCSVText(append(to, ','), name)
	}
	return append(to, "\r\n"...)
}

// cellsOf returns a row of the table.
func (s *answerSet) cellsOf(row []driver.Value) []string {
	cells := make([]string, 0, len(row)+2)
	cells = append(cells, cleanCell(s.server), cleanCell(s.database))
	for i, v := range row {
		text := "NULL"
		if v != nil {
			text = s.columns[i].Text(v)
			if s.to.cuts && len(text) > maxCell {
				text = wording.Clip(text, maxCell, wording.Characters)
			}
			text = cleanCell(text)
		}
		cells = append(cells, text)
	}
	return cells
}

// answerTable prints the rows of one shape in parts, with columns that do not become narrower.
type answerTable struct {
	p      *Printer
	g      grid
	size   int
	widths []int // of the parts before; nil: there is none
	since  time.Time
}

func newAnswerTable(p *Printer, s *answerShape) *answerTable {
	t := &answerTable{p: p, g: grid{columns: []gridColumn{{header: "SERVER", min: 12}, {header: "DATABASE", min: 12}}}}
	for i, name := range s.names {
		t.g.columns = append(t.g.columns, gridColumn{header: cleanCell(name), min: 8, right: s.rights[i]})
	}
	return t
}

// add takes rows.
func (t *answerTable) add(rows [][]string) error {
	if len(t.g.rows) == 0 {
		t.since = time.Now()
	}
	t.g.rows = append(t.g.rows, rows...)
	for _, row := range rows {
		for _, cell := range row {
			t.size += len(cell)
		}
	}
	if len(t.g.rows) >= heldRows || t.size >= heldCells || t.widths != nil && time.Since(t.since) > heldTime {
		return t.flush()
	}
	return nil
}

// flush prints the rows that are held. On a terminal the widths of the first rows stay.
func (t *answerTable) flush() error {
	if len(t.g.rows) == 0 {
		return nil
	}
	bound, _, _ := terminal.Size(t.p.Stdout)
	if t.p.Format == FormatWide {
		bound = 0
	}
	natural, _ := t.g.natural()
	if t.g.overflow = bound == 0; t.g.overflow {
		for i := range natural {
			natural[i] = min(natural[i], maxColumn)
		}
	}
	switch {
	case t.widths == nil:
		t.widths = t.g.layout(natural, make([]bool, len(natural)), bound)
	case bound == 0:
		for i := range natural {
			t.widths[i] = max(t.widths[i], natural[i])
		}
	}
	err := t.g.writeWithin(t.p.Stdout, t.widths, t.p.Painter())
	t.g.rows, t.g.noHead, t.size = nil, true, 0
	return err
}

// later keeps rows for the end: in memory, and beyond that in a temporary file that only the user
// can read, and that has no name where that is possible.
type later struct {
	memory bytes.Buffer
	file   *os.File
	out    *bufio.Writer
}

// keptInMemory is how much is kept in memory.
const keptInMemory = 4 << 20

// add keeps the rows of a shape.
func (l *later) add(shape int, text []byte) error {
	var head [2 * binary.MaxVarintLen64]byte
	record := binary.AppendUvarint(head[:0], uint64(shape))
	record = binary.AppendUvarint(record, uint64(len(text)))
	if l.file == nil && l.memory.Len()+len(text) > keptInMemory {
		file, err := os.CreateTemp("", "jobagent-query-")
		if err != nil {
			return fmt.Errorf("keep the rows of other columns for the end: %w", err)
		}
		_ = os.Remove(file.Name()) // where an open file can lose its name, nothing is left after a crash
		l.file, l.out = file, bufio.NewWriterSize(file, 64<<10)
		if _, err := l.memory.WriteTo(l.out); err != nil {
			return fmt.Errorf("keep the rows of other columns for the end: %w", err)
		}
	}
	var to io.Writer = &l.memory
	if l.file != nil {
		to = l.out
	}
	for _, part := range [][]byte{record, text} {
		if _, err := to.Write(part); err != nil {
			return fmt.Errorf("keep the rows of other columns for the end: %w", err)
		}
	}
	return nil
}

// each passes on the rows of a shape in their order.
func (l *later) each(shape int, fn func([]byte) error) error {
	var from io.Reader = bytes.NewReader(l.memory.Bytes())
	if l.file != nil {
		if err := l.out.Flush(); err != nil {
			return fmt.Errorf("read the rows of other columns: %w", err)
		}
		if _, err := l.file.Seek(0, io.SeekStart); err != nil {
			return fmt.Errorf("read the rows of other columns: %w", err)
		}
		from = l.file
	}
	in := bufio.NewReaderSize(from, 64<<10)
	for {
		number, err := binary.ReadUvarint(in)
		if errors.Is(err, io.EOF) {
			return nil
		}
		size, sizeErr := binary.ReadUvarint(in)
		if err := errors.Join(err, sizeErr); err != nil {
			return fmt.Errorf("read the rows of other columns: %w", err)
		}
		if number != uint64(shape) {
			if _, err := in.Discard(int(size)); err != nil {
				return fmt.Errorf("read the rows of other columns: %w", err)
			}
			continue
		}
		text := make([]byte, size)
		if _, err := io.ReadFull(in, text); err != nil {
			return fmt.Errorf("read the rows of other columns: %w", err)
		}
		if err := fn(text); err != nil {
			return err
		}
	}
}

// close removes the file.
func (l *later) close() {
	if l.file != nil {
		_ = l.file.Close()
		_ = os.Remove(l.file.Name()) // where its name stayed
	}
}
