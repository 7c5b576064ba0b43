package mssql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"
	mssqldb "github.com/microsoft/go-mssqldb"

	"github.com/jobagent/jobagent/jobs/tsql"
	"github.com/jobagent/jobagent/targets"
)

// Output is the table for the first result set of a step's script.
type Output struct {
	// Server and Database are the place of the table.
	Server, Database string
	// Credential names the credential to write with; empty means DefaultCredential.
	Credential string
	// Schema is the table's schema; empty means dbo.
	Schema string
	// Table is the table's name, without quotes and schema.
	Table string
	// ExecutionID identifies the rows. It is the ID of the execution of this step on this target,
	// the same in all its attempts, so that a later attempt replaces the rows of an earlier one.
	ExecutionID uuid.UUID
}

// name returns the table's full name for messages.
func (o *Output) name() string { return o.Server + "/" + o.Database + " " + o.table() }

// table returns the quoted name of the table.
func (o *Output) table() string { return tsql.Name(o.schema(), o.Table) }

func (o *Output) schema() string {
	if o.Schema == "" {
		return "dbo"
	}
	return o.Schema
}

// executionColumn is the first column of an output table, as documented for Azure's output tables.
const executionColumn = "internal_execution_id"

// index returns the name of the documented index, IX_<Table>_Internal_Execution_ID, with the
// table's name cut to fit into SQL Server's 128 characters.
func (o *Output) index() string {
	const suffix = "_Internal_Execution_ID"
	table := []rune(o.Table)
	return "IX_" + string(table[:min(len(table), 128-len("IX_")-len(suffix))]) + suffix
}

// staging is a temporary table of the session that takes the rows while they arrive. No session
// waits for a lock on the output table while a script runs, and one short transaction replaces the
// rows.
const staging = "#jobagent_output"

// OutputError means that a result set could not be written to the output table.
type OutputError struct {
	// Table is the full name of the output table.
	Table string
	// Err is the reason.
	Err error
}

// Error implements error.
func (e *OutputError) Error() string { return "output table " + e.Table + ": " + e.Err.Error() }

// Unwrap returns the reason.
func (e *OutputError) Unwrap() error { return e.Err }

// writeOutput reads a result set to its end and writes it to the output table. After an error
// nothing is written, and the set may have unread rows.
func (t *attempt) writeOutput(ctx context.Context, set *resultSet, p *pump) (err error) {
	o := t.Output
	defer func() {
		if err != nil {
			t.written = 0
			err = &OutputError{Table: o.name(), Err: err}
		}
	}()
	columns, err := outputColumns(set.columns)
	if err != nil {
		return err
	}
	shared, err := t.servers.acquire(o.Server, o.Database, o.Credential, true)
	if err != nil {
		return err
	}
	defer t.servers.release(shared)
	conn, err := shared.db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer cutAfter(ctx, wireOf(conn), ackWait)() // the server may not read what is written to it
	w := &outputWriter{output: o, conn: conn, columns: columns}
	defer func() { w.close(err == nil) }()

	if err := w.prepare(ctx, t.messages); err != nil {
		return err
	}
	if err := w.load(ctx, set); err != nil {
		return err
	}
	// An error may have ended the result set early.
	p.sync()
	if t.messages.failure() != nil || ctx.Err() != nil {
		return errors.New("the result set was not complete")
	}
	t.written, err = w.replace(ctx)
	return err
}

// outputColumn is a column of the result set.
type outputColumn struct {
	name  string
	typ   string // type in the output table
	stage string // type in the staging table
	// convert converts a value of the driver for the bulk copy. It is not called for NULL; a nil
	// convert keeps the value.
	convert func(any) (any, error)
	// coded types have a code page. They are not cast back, because CAST would use the code page of
	// the staging table's column, which is tempdb's, and lose characters that only the output
	// table's column can hold. INSERT converts to the code page of the output table's column.
	coded bool
}

// outputColumns maps the columns of the result set. An error names the column's position and the
// remedy.
func outputColumns(types []resultColumn) ([]outputColumn, error) {
	seen := map[string]int{targets.FoldName(executionColumn): 0}
	columns := make([]outputColumn, len(types))
	for i, ct := range types {
		name := ct.name
		if name == "" {
			return nil, fmt.Errorf("column %d of the result set has no name: give it one with AS", i+1)
		}
		if at, taken := seen[targets.FoldName(name)]; taken {
			if at == 0 {
				return nil, fmt.Errorf("column %d of the result set has the name %s, which is reserved for the output table",
					i+1, name)
			}
			return nil, fmt.Errorf("columns %d and %d of the result set are both called %q: give one another name with AS",
				at, i+1, name)
		}
		seen[targets.FoldName(name)] = i + 1
		column, err := outputType(ct)
		if err != nil {
			return nil, fmt.Errorf("column %d of the result set, %q, %w", i+1, name, err)
		}
		column.name = name
		columns[i] = column
	}
	return columns, nil
}

// outputType maps a column's type. Some types are staged as nvarchar or varbinary and cast back:
// those that the bulk copy would write byte by byte, because the driver does not know collations,
// and those that it cannot write.
func outputType(ct resultColumn) (outputColumn, error) {
	name := strings.ToLower(ct.typ)
	sized := func(typ string, limit int64) string {
		if ct.length <= 0 || ct.length > limit {
			return typ + "(max)"
		}
		return fmt.Sprintf("%s(%d)", typ, ct.length)
	}
	same := func(typ string) (outputColumn, error) { return outputColumn{typ: typ, stage: typ}, nil }
	switch name {
	case "tinyint", "smallint", "int", "bigint", "bit", "real", "float",
		"date", "datetime", "smalldatetime", "uniqueidentifier":
		return same(name)
	case "time", "datetime2", "datetimeoffset":
		return same(fmt.Sprintf("%s(%d)", name, ct.scale))
	case "decimal", "numeric":
		c, err := same(fmt.Sprintf("decimal(%d, %d)", ct.precision, ct.scale))
		c.convert = bytesToText
		return c, err
	case "money":
		return outputColumn{typ: "money", stage: "decimal(19, 4)", convert: bytesToText}, nil
	case "smallmoney":
		return outputColumn{typ: "smallmoney", stage: "decimal(10, 4)", convert: bytesToText}, nil
	case "varchar":
		return outputColumn{typ: sized(name, 8000), stage: sized("nvarchar", 4000), coded: true}, nil
	case "char":
		return outputColumn{typ: sized(name, 8000), stage: sized("nvarchar", 4000), coded: true}, nil
	case "nvarchar", "nchar":
		return outputColumn{typ: sized(name, 4000), stage: sized("nvarchar", 4000)}, nil
	case "text", "ntext", "xml":
		return outputColumn{typ: name, stage: "nvarchar(max)", convert: bytesToText, coded: name == "text"}, nil
	case "varbinary", "binary":
		return outputColumn{typ: sized(name, 8000), stage: sized("varbinary", 8000)}, nil
	case "image", "hierarchyid", "geography", "geometry":
		return outputColumn{typ: name, stage: "varbinary(max)"}, nil
	case "sql_variant":
		return outputColumn{}, errors.New("is sql_variant: the client cannot see the types of its values; " +
			"CAST it to one type")
	default:
		return outputColumn{}, fmt.Errorf("is %s: it cannot be written to an output table; CAST it to another type", name)
	}
}

// bytesToText converts the digits of a decimal, which the driver reads as bytes, to text.
func bytesToText(v any) (any, error) {
	if b, ok := v.([]byte); ok {
		return string(b), nil
	}
	return v, nil
}

// outputWriter writes one result set with one session.
type outputWriter struct {
	output  *Output
	conn    *sql.Conn
	columns []outputColumn
	target  []string // column names as the table spells them
}

// close returns the session to its pool. After an error the session is closed instead, because its
// state is not known.
func (w *outputWriter) close(good bool) {
	if !good {
		_ = w.conn.Raw(func(any) error { return driver.ErrBadConn })
	}
	_ = w.conn.Close()
}

// prepare creates the output table unless it exists, checks its columns, and creates the staging
// table.
func (w *outputWriter) prepare(ctx context.Context, messages *collector) error {
	found, err := w.tableColumns(ctx)
	if err != nil {
		return err
	}
	for try := 1; len(found) == 0; try++ {
		if err := w.create(ctx); err != nil && (try == createTries || Classify(err).Class != targets.ClassDeadlock) {
			return err
		}
		if found, err = w.tableColumns(ctx); err != nil {
			return err
		}
		if try == createTries {
			break
		}
	}
	if err := w.match(found); err != nil {
		return err
	}
	if err := w.checkIndex(ctx, messages); err != nil {
		return err
	}
	var stage []string
	for i, c := range w.columns {
		stage = append(stage, fmt.Sprintf("c%d %s NULL", i, c.stage))
	}
	// A pooled session may still have the table of an earlier use, until its reset.
	_, err = w.conn.ExecContext(ctx, "DROP TABLE IF EXISTS "+staging+
		"; CREATE TABLE "+staging+" ("+strings.Join(stage, ", ")+");")
	if err != nil {
		return fmt.Errorf("create the staging table: %w", err)
	}
	return nil
}

// createTries is how often the creation of the table is tried. Targets that create it at the same
// time may be victims of a deadlock with each other.
const createTries = 3

// tableColumn is a column of the output table.
type tableColumn struct {
	name, typ string
}

// tableColumns returns the columns of the output table; none if it does not exist.
func (w *outputWriter) tableColumns(ctx context.Context) ([]tableColumn, error) {
	rows, err := w.conn.QueryContext(ctx, `SELECT c.name, TYPE_NAME(c.system_type_id)
FROM sys.columns AS c
WHERE c.object_id = OBJECT_ID(@table)
ORDER BY c.column_id;`, sql.Named("table", w.output.table()))
	if err != nil {
		return nil, fmt.Errorf("look for the table: %w", err)
	}
	defer rows.Close()
	var found []tableColumn
	for rows.Next() {
		var name, typ sql.NullString
		if err := rows.Scan(&name, &typ); err != nil {
			return nil, fmt.Errorf("look for the table: %w", err)
		}
		found = append(found, tableColumn{name.String, typ.String})
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("look for the table: %w", err)
	}
	return found, nil
}

// The errors of a CREATE that another session has overtaken.
const (
	errObjectExists = 2714 // "There is already an object named … in the database."
	errIndexExists  = 1913 // "The operation failed because an index or statistics with name … already exists"
)

// create creates the table and its index in one transaction, so that no session sees one without
// the other. A table that another target created meanwhile is not an error.
func (w *outputWriter) create(ctx context.Context) error {
	definition := []string{tsql.Name(executionColumn) + " uniqueidentifier NOT NULL"}
	for _, c := range w.columns {
		definition = append(definition, tsql.Name(c.name)+" "+c.typ+" NULL")
	}
	tx, err := w.conn.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("create the table: %w", err)
	}
	_, err = tx.ExecContext(ctx, "CREATE TABLE "+w.output.table()+" ("+strings.Join(definition, ", ")+");")
	if err == nil {
		_, err = tx.ExecContext(ctx, "CREATE NONCLUSTERED INDEX "+tsql.Name(w.output.index())+
			" ON "+w.output.table()+" ("+tsql.Name(executionColumn)+");")
	}
	if err == nil {
		err = tx.Commit()
	} else {
		_ = tx.Rollback()
	}
	if e, ok := asServerError(err); ok && (e.Number == errObjectExists || e.Number == errIndexExists) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("create the table: %w", err)
	}
	return nil
}

// match finds the result set's columns in the table. The error names every column that does not
// fit.
func (w *outputWriter) match(found []tableColumn) error {
	if len(found) == 0 {
		return errors.New("the table was created but is not visible: check the permissions on its schema")
	}
	byName := make(map[string]tableColumn, len(found))
	for _, c := range found {
		byName[targets.FoldName(c.name)] = c
	}
	var faults []string
	if id, ok := byName[targets.FoldName(executionColumn)]; !ok {
		faults = append(faults, "the table has no column "+executionColumn+" uniqueidentifier")
	} else if id.typ != "uniqueidentifier" {
		faults = append(faults, fmt.Sprintf("the column %s is %s: it must be uniqueidentifier", executionColumn, id.typ))
	}
	var missing []string
	w.target = nil
	for _, c := range w.columns {
		own, ok := byName[targets.FoldName(c.name)]
		if !ok {
			missing = append(missing, tsql.Name(c.name))
			continue
		}
		w.target = append(w.target, own.name)
	}
	if len(missing) > 0 {
		faults = append(faults, "the result set has columns that the table lacks: "+strings.Join(missing, ", "))
	}
	if len(faults) > 0 {
		return errors.New(strings.Join(faults, "; "))
	}
	return nil
}

// checkIndex adds a remark if the documented index is missing. Rows are replaced correctly without
// it, but slowly.
func (w *outputWriter) checkIndex(ctx context.Context, messages *collector) error {
	var n int
	err := w.conn.QueryRowContext(ctx, `SELECT COUNT(*)
FROM sys.indexes AS i
INNER JOIN sys.index_columns AS ic ON ic.object_id = i.object_id AND ic.index_id = i.index_id AND ic.key_ordinal = 1
INNER JOIN sys.columns AS c ON c.object_id = ic.object_id AND c.column_id = ic.column_id
WHERE i.object_id = OBJECT_ID(@table) AND c.name = @column;`,
		sql.Named("table", w.output.table()), sql.Named("column", executionColumn)).Scan(&n)
	if err != nil {
		return fmt.Errorf("look for the table's index: %w", err)
	}
	if n == 0 {
		messages.remark(fmt.Sprintf("The output table %s has no index on %s: replacing rows reads the whole table. "+
			"Create it with CREATE NONCLUSTERED INDEX %s.", w.output.name(), executionColumn, tsql.Name(w.output.index())))
	}
	return nil
}

// load streams the result set into the staging table.
func (w *outputWriter) load(ctx context.Context, set *resultSet) error {
	names := make([]string, len(w.columns))
	values := make([]any, len(w.columns))
	for i := range w.columns {
		names[i] = fmt.Sprintf("c%d", i)
	}
	stmt, err := w.conn.PrepareContext(ctx, mssqldb.CopyIn(staging, mssqldb.BulkOptions{KeepNulls: true}, names...))
	if err != nil {
		return fmt.Errorf("copy the rows: %w", err)
	}
	defer stmt.Close()
	for n := 1; set.next(); n++ {
		for i, c := range w.columns {
			values[i] = set.row[i]
			if values[i] == nil || c.convert == nil {
				continue
			}
			if values[i], err = c.convert(values[i]); err != nil {
				return fmt.Errorf("row %d, column %q: %w", n, c.name, err)
			}
		}
		if _, err := stmt.ExecContext(ctx, values...); err != nil {
			return fmt.Errorf("copy row %d: %w", n, err)
		}
	}
	if set.err != nil {
		return fmt.Errorf("read the result set: %w", set.err)
	}
	if _, err := stmt.ExecContext(ctx); err != nil { // no values mark the end of the rows
		return fmt.Errorf("copy the rows: %w", err)
	}
	return nil
}

// replace replaces the rows of earlier attempts in the output table by those of the staging table.
func (w *outputWriter) replace(ctx context.Context) (int64, error) {
	names, values := []string{tsql.Name(executionColumn)}, []string{"@id"}
	for i, c := range w.columns {
		names = append(names, tsql.Name(w.target[i]))
		value := fmt.Sprintf("c%d", i)
		if c.stage != c.typ && !c.coded {
			value = fmt.Sprintf("CAST(c%d AS %s)", i, c.typ)
		}
		values = append(values, value)
	}
	id := sql.Named("id", mssqldb.UniqueIdentifier(w.output.ExecutionID))
	tx, err := w.conn.BeginTx(ctx, nil)
	if err != nil {
		return 0, fmt.Errorf("replace the rows: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // no effect after a commit
	_, err = tx.ExecContext(ctx, "DELETE FROM "+w.output.table()+" WHERE "+tsql.Name(executionColumn)+" = @id;", id)
	if err != nil {
		return 0, fmt.Errorf("delete the rows of an earlier attempt: %w", err)
	}
	done, err := tx.ExecContext(ctx, "INSERT INTO "+w.output.table()+" ("+strings.Join(names, ", ")+") SELECT "+
		strings.Join(values, ", ")+" FROM "+staging+";", id)
	if err != nil {
		return 0, fmt.Errorf("insert the rows: %w", err)
	}
	n, err := done.RowsAffected()
	if err != nil {
		return 0, fmt.Errorf("count the rows: %w", err)
	}
	if err := tx.Commit(); err != nil {
		return 0, fmt.Errorf("replace the rows: %w", err)
	}
	if _, err := w.conn.ExecContext(ctx, "DROP TABLE "+staging+";"); err != nil {
		return n, fmt.Errorf("drop the staging table: %w", err)
	}
	return n, nil
}
