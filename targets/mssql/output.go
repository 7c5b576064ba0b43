package mssql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"time"

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
// table's name cut so that the result has at most 128 characters.
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

// accessQuery queries, for the table @table, whether it exists and whether the login may write to
// it, or create it. A right is NULL if the server does not report it. NULL as the name of a
// database stands for the current database: HAS_PERMS_BY_NAME would read a name with a dot as
// several parts. A table belongs to the owner of its schema, so its creator needs rights on the
// schema. DELETE needs SELECT on the columns of its WHERE clause
// (https://learn.microsoft.com/sql/t-sql/statements/delete-transact-sql, "Permissions").
const accessQuery = `SELECT
    CASE WHEN OBJECT_ID(@table) IS NULL THEN 0 ELSE 1 END,
    CASE
        WHEN OBJECT_ID(@table) IS NULL AND HAS_PERMS_BY_NAME(@schema, N'SCHEMA', N'ALTER') = 0 THEN 0
        WHEN OBJECT_ID(@table) IS NULL AND HAS_PERMS_BY_NAME(@schema, N'SCHEMA', N'INSERT') = 0 THEN 0
        WHEN OBJECT_ID(@table) IS NULL AND HAS_PERMS_BY_NAME(@schema, N'SCHEMA', N'SELECT') = 0 THEN 0
        WHEN OBJECT_ID(@table) IS NULL AND HAS_PERMS_BY_NAME(@schema, N'SCHEMA', N'DELETE') = 0 THEN 0
        WHEN OBJECT_ID(@table) IS NULL THEN HAS_PERMS_BY_NAME(NULL, N'DATABASE', N'CREATE TABLE')
        WHEN HAS_PERMS_BY_NAME(@table, N'OBJECT', N'INSERT') = 0 THEN 0
        WHEN HAS_PERMS_BY_NAME(@table, N'OBJECT', N'SELECT', N'internal_execution_id', N'COLUMN') = 0 THEN 0
        ELSE HAS_PERMS_BY_NAME(@table, N'OBJECT', N'DELETE')
    END;`

// openOutput checks, before the script is sent, that the agent can log in to the output table's
// database and may write to the table. Otherwise each attempt would run the script and then fail.
// The caller releases t.outputs if it is not nil. The session goes back to the pool, because the
// script may run for hours.
func (t *attempt) openOutput(ctx context.Context) (err error) {
	o := t.Output
	defer func() {
		if err != nil {
			err = &OutputError{Table: o.name(), Err: err}
		}
	}()
	if t.outputs, err = t.servers.acquire(o.Server, o.Database, o.Credential, true); err != nil {
		return err
	}
	exists, allowed, err := t.outputAccess(ctx)
	switch {
	case err != nil:
		return err
	case !allowed.Valid || allowed.Int64 != 0:
		return nil
	case exists:
		err = errors.New("the login may not write to it; grant it SELECT, INSERT and DELETE on the table")
	default:
		err = errors.New("it does not exist, and the login may not create it; " +
			"create it, or grant the login CREATE TABLE in the database, and ALTER, SELECT, INSERT and DELETE on the schema")
	}
	return &targets.ConfigError{Subject: "database " + o.Database, Err: err}
}

// outputAccess sends accessQuery, on another session if a pooled one has broken.
func (t *attempt) outputAccess(ctx context.Context) (exists bool, allowed sql.NullInt64, err error) {
	ask := func() (lost bool, err error) {
		conn, err := t.outputs.db.Conn(ctx)
		if err != nil {
			return false, fmt.Errorf("connect: %w", err)
		}
		w := &outputWriter{conn: conn, wire: wireOf(conn)}
		defer func() { w.close(err == nil) }()
		defer cutAfter(ctx, w.wire, ackWait)()
		err = conn.QueryRowContext(ctx, accessQuery, sql.Named("table", t.Output.table()),
			sql.Named("schema", tsql.Name(t.Output.schema()))).Scan(&exists, &allowed)
		if err != nil {
			return w.lost(err), fmt.Errorf("look for the table: %w", err)
		}
		return false, nil
	}
	for try := 1; ; try++ {
		lost, err := ask()
		if err == nil || !lost || try == outputTries || ctx.Err() != nil {
			return exists, allowed, err
		}
	}
}

// outputTries is the number of tries to write a result set. Each idle session of the pool may have
// broken.
const outputTries = poolIdle + 1

// writeOutput reads a result set to its end and writes it to the output table. After an error
// nothing is written, and the result set may have unread rows.
//
// The script is running and may have changed data, so a failure of the agent's own statements would
// make the next attempt run the script again. Therefore the agent repeats its statements after a
// transient error, if it still has all rows. Each statement is safe to repeat: the table is created
// once, the staging table ends with its session, and replace replaces the rows of this execution.
func (t *attempt) writeOutput(ctx context.Context, set *resultSet, p *pump) error {
	columns, err := outputColumns(set.columns)
	if err != nil {
		return &OutputError{Table: t.Output.name(), Err: err}
	}
	rows := &outputRows{set: set, columns: columns}
	for try := 1; ; try++ {
		written, repeat, err := t.tryOutput(ctx, rows, p)
		if err == nil {
			t.written = written
			return nil
		}
		if !repeat || try == outputTries || !rows.rewind() || !pause(ctx, try) {
			return &OutputError{Table: t.Output.name(), Err: err}
		}
	}
}

// pause waits before the next try: 0.1 s after the first one, and then four times as long each
// time, 8.5 s in all. It returns false if ctx has ended. The script's session is not read
// meanwhile. The sum is shorter than the time after which large rows lose their memory (15 s).
func pause(ctx context.Context, try int) bool {
	timer := time.NewTimer(100 * time.Millisecond << (2 * (try - 1)))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// tryOutput is one try of writeOutput. repeat means that another try may succeed.
func (t *attempt) tryOutput(ctx context.Context, rows *outputRows, p *pump) (written int64, repeat bool, err error) {
	conn, err := t.outputs.db.Conn(ctx)
	if err != nil {
		return 0, Classify(err).Class.Retryable(), fmt.Errorf("connect: %w", err)
	}
	wire := wireOf(conn)
	defer cutAfter(ctx, wire, ackWait)() // the server may stop reading
	w := &outputWriter{output: t.Output, conn: conn, wire: wire, columns: rows.columns}
	clean := false
	defer func() { w.close(clean) }()

	if err := w.prepare(ctx); err != nil {
		return 0, w.mayRepeat(err), err
	}
	if err := w.load(ctx, rows); err != nil {
		return 0, w.mayRepeat(err), err
	}
	// An error may have ended the result set early.
	p.sync()
	if t.messages.failure() != nil || rows.set.wire.unexplained() != nil || ctx.Err() != nil {
		return 0, false, errors.New("the result set was not complete")
	}
	if written, err = w.replace(ctx); err != nil {
		return 0, w.mayRepeat(err), err
	}
	if !w.indexed {
		t.messages.remark(fmt.Sprintf("The output table %s has no index on %s: replacing rows reads the whole table. "+
			"Create it with CREATE NONCLUSTERED INDEX %s.", t.Output.name(), executionColumn, tsql.Name(t.Output.index())))
	}
	// The rows are committed. A staging table that was not dropped ends with its session.
	_, dropErr := conn.ExecContext(ctx, "DROP TABLE "+staging+";")
	clean = dropErr == nil
	return written, false, nil
}

// outputColumn is a column of the result set.
type outputColumn struct {
	name  string
	typ   string // type in the output table
	stage string // type in the staging table
	// convert converts a value of the driver for the bulk copy. It is not called for NULL; nil
	// keeps the value.
	convert func(any) (any, error)
	// coded means that the type has a code page. Such a column is not cast back: CAST would use the
	// code page of the staging table's column, which is tempdb's, and lose characters that only the
	// output table's column has. INSERT converts to the code page of the output table's column.
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
// those that the bulk copy would write byte by byte, because the driver does not convert
// collations, and those that it cannot write.
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
	wire    *wire
	columns []outputColumn
	target  []string // column names in the spelling of the table
	indexed bool     // the table has an index on the execution's ID
}

// close returns the session to its pool. After an error the session is closed instead, because its
// state is not known.
func (w *outputWriter) close(good bool) {
	if !good {
		_ = w.conn.Raw(func(any) error { return driver.ErrBadConn })
	}
	_ = w.conn.Close()
}

// lost reports whether the session has ended.
func (w *outputWriter) lost(err error) bool {
	_, broken := w.wire.state()
	return broken != nil || errors.Is(err, driver.ErrBadConn)
}

// mayRepeat reports whether a statement that failed with err may succeed later: after a deadlock, a
// transient error or the loss of the session. Nothing is repeated on a server that violates the
// protocol.
func (w *outputWriter) mayRepeat(err error) bool {
	if _, broken := w.wire.state(); isRefusal(broken) {
		return false
	}
	return w.lost(err) || Classify(err).Class.Retryable()
}

// prepare creates the output table unless it exists, checks its columns, and creates the staging
// table.
func (w *outputWriter) prepare(ctx context.Context) error {
	found, err := w.tableColumns(ctx)
	if err != nil {
		return err
	}
	for try := 1; len(found) == 0; try++ {
		failed := w.create(ctx)
		if failed != nil && !isServerError(failed) {
			return failed
		}
		// Another target may have created the table meanwhile, whatever the error is: 2714, 1913,
		// 1205, or the duplicate key of a catalog.
		if found, err = w.tableColumns(ctx); err != nil {
			return err
		}
		if len(found) > 0 || failed == nil {
			break
		}
		class := Classify(failed).Class
		if try == createTries || class == targets.ClassAuth || class == targets.ClassConfig || !pause(ctx, try) {
			return failed
		}
	}
	if err := w.match(found); err != nil {
		return err
	}
	var stage []string
	for i, c := range w.columns {
		stage = append(stage, fmt.Sprintf("c%d %s NULL", i, c.stage))
	}
	// A pooled session may still have the table of an earlier use, until its reset. The server's
	// option "user options" may set NOCOUNT, which would hide the number of rows in replace.
	_, err = w.conn.ExecContext(ctx, "DROP TABLE IF EXISTS "+staging+
		"; CREATE TABLE "+staging+" ("+strings.Join(stage, ", ")+"); SET NOCOUNT OFF;")
	if err != nil {
		return fmt.Errorf("create the staging table: %w", err)
	}
	return nil
}

// createTries is the number of tries to create the table. The session that creates it first may not
// have committed when another one fails.
const createTries = 3

// tableColumn is a column of the output table.
type tableColumn struct {
	name, typ string
	leads     bool // an index begins with the column
}

// tableColumns returns the columns of the output table; none if it does not exist.
func (w *outputWriter) tableColumns(ctx context.Context) ([]tableColumn, error) {
	rows, err := w.conn.QueryContext(ctx, `SELECT
    c.name,
    TYPE_NAME(c.system_type_id),
    CASE
        WHEN EXISTS (
            SELECT 1
            FROM sys.index_columns AS ic
            WHERE ic.object_id = c.object_id AND ic.column_id = c.column_id AND ic.key_ordinal = 1
        ) THEN 1
        ELSE 0
    END
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
		var leads bool
		if err := rows.Scan(&name, &typ, &leads); err != nil {
			return nil, fmt.Errorf("look for the table: %w", err)
		}
		found = append(found, tableColumn{name.String, typ.String, leads})
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("look for the table: %w", err)
	}
	return found, nil
}

// create creates the table and its index in one transaction, so that no session sees only one of
// them. After an error nothing is left.
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
	if err != nil {
		return fmt.Errorf("create the table: %w", err)
	}
	return nil
}

// match finds the result set's columns in the table. The error names every column without a match.
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
	} else if w.indexed = id.leads; id.typ != "uniqueidentifier" {
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

// load streams the result set into the staging table.
func (w *outputWriter) load(ctx context.Context, rows *outputRows) error {
	names := make([]string, len(w.columns))
	for i := range w.columns {
		names[i] = fmt.Sprintf("c%d", i)
	}
	stmt, err := w.conn.PrepareContext(ctx, mssqldb.CopyIn(staging, mssqldb.BulkOptions{KeepNulls: true}, names...))
	if err != nil {
		return fmt.Errorf("copy the rows: %w", err)
	}
	defer stmt.Close()
	for rows.next() {
		if _, err := stmt.ExecContext(ctx, rows.values...); err != nil {
			return fmt.Errorf("copy row %d: %w", rows.number, err)
		}
	}
	if rows.err != nil {
		return rows.err
	}
	if _, err := stmt.ExecContext(ctx); err != nil { // a call without values ends the bulk copy
		return fmt.Errorf("copy the rows: %w", err)
	}
	return nil
}

// replace replaces the rows of earlier attempts in the output table with those of the staging
// table, and returns the number of rows. It tries again after a deadlock, for example, because the
// staging table still has all rows.
func (w *outputWriter) replace(ctx context.Context) (n int64, err error) {
	for try := 1; ; try++ {
		n, err = w.replaceOnce(ctx)
		if err == nil || try == outputTries || w.lost(err) || !w.mayRepeat(err) || !pause(ctx, try) {
			return n, err
		}
	}
}

// replaceOnce is one try of replace, in one transaction.
func (w *outputWriter) replaceOnce(ctx context.Context) (int64, error) {
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
	return n, nil
}
