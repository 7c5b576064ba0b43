package printer

import (
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"strconv"
)

// verb writes CREATE, ALTER or CREATE OR ALTER.
func (w *printer) verb(v syntax.Verb) {
	w.text(v.String(), " ")
}

// ddl writes the definitions of tables, indexes and other objects.
func (w *printer) ddl(s syntax.Stmt) {
	switch s := s.(type) {
	case *syntax.CreateTableStmt:
		w.text("CREATE TABLE ")
		w.name(s.Name)
		w.text(" ")
		w.tableDef(s.Def)
		w.named(" ON ", s.On)
		w.named(" TEXTIMAGE_ON ", s.TextImageOn)
		w.withOptions(s.Options)
	case *syntax.AlterTableStmt:
		w.text("ALTER TABLE ")
		w.name(s.Table)
		w.text(" ")
		w.alterAction(s.Action)
	case *syntax.CreateIndexStmt:
		w.createIndex(s)
	case *syntax.AlterIndexStmt:
		w.alterIndex(s)
	case *syntax.DropIndexStmt:
		w.text("DROP INDEX ")
		w.textIf(s.IfExists, "IF EXISTS ")
		nodes(w, s.Items)
	case *syntax.DropStmt:
		w.text("DROP ", s.Kind)
		w.textIf(s.IfExists, " IF EXISTS")
		w.textIf(len(s.Names) > 0, " ")
		nodes(w, s.Names)
		w.textIf(s.OnDatabase, " ON DATABASE")
		w.textIf(s.OnServer, " ON ALL SERVER")
	case *syntax.CreateFunctionStmt:
		w.function(s)
	case *syntax.CreateViewStmt:
		w.view(s)
	case *syntax.CreateTypeStmt:
		w.createType(s)
	case *syntax.SequenceStmt:
		w.sequence(s)
	case *syntax.CreateSynonymStmt:
		w.text("CREATE SYNONYM ")
		w.name(s.Name)
		w.text(" FOR ")
		w.name(s.Target)
	case *syntax.CreateStatisticsStmt:
		w.text("CREATE STATISTICS ")
		w.ident(s.Name)
		w.text(" ON ")
		w.name(s.Table)
		w.idents(s.Columns)
		w.where(s.Where, nil)
		w.bareOptions(" WITH ", s.Options)
	case *syntax.UpdateStatisticsStmt:
		w.text("UPDATE STATISTICS ")
		w.name(s.Table)
		w.idents(s.Names)
		w.bareOptions(" WITH ", s.Options)
	case *syntax.TriggerStmt:
		w.text(map[bool]string{true: "ENABLE TRIGGER ", false: "DISABLE TRIGGER "}[s.Enable])
		w.textIf(len(s.Names) == 0, "ALL")
		nodes(w, s.Names)
		w.triggerPlace(s.Table, s.OnDatabase, s.OnServer)
	default:
		w.database(s)
	}
}

// alterIndex writes ALTER INDEX.
func (w *printer) alterIndex(s *syntax.AlterIndexStmt) {
	w.text("ALTER INDEX ")
	w.textIf(s.Name.Name == "", "ALL")
	w.ident(s.Name)
	w.text(" ON ")
	w.name(s.Table)
	w.text(" ", s.Action)
	w.optional(" PARTITION = ", s.Partition)
	if s.Action == "SET" {
		w.text(" (")
		nodes(w, s.Options)
		w.text(")")
		return
	}
	w.withOptions(s.Options)
}

// view writes a view.
func (w *printer) view(s *syntax.CreateViewStmt) {
	w.verb(s.Verb)
	w.text("VIEW ")
	w.name(s.Name)
	w.idents(s.Columns)
	w.moduleOptions(s.Options)
	w.text(" AS ")
	w.query(s.Query)
	w.textIf(s.CheckOption, " WITH CHECK OPTION")
}

// createType writes CREATE TYPE.
func (w *printer) createType(s *syntax.CreateTypeStmt) {
	w.text("CREATE TYPE ")
	w.name(s.Name)
	if s.From != nil {
		w.text(" FROM ")
		w.typeRef(s.From)
		w.null(s.Null)
		return
	}
	w.text(" AS TABLE ")
	w.tableDef(s.Table)
}

// named writes before and a name, or nothing if there is no name.
func (w *printer) named(before string, id syntax.Ident) {
	if id.Name != "" {
		w.text(before)
		w.ident(id)
	}
}

// bareOptions writes before and options without parentheses.
func (w *printer) bareOptions(before string, list []*syntax.Option) {
	if len(list) > 0 {
		w.text(before)
		nodes(w, list)
	}
}

// database writes definitions of schemas and databases.
func (w *printer) database(s syntax.Stmt) {
	switch s := s.(type) {
	case *syntax.CreateSchemaStmt:
		w.text("CREATE SCHEMA")
		w.named(" ", s.Name)
		if s.Authorization.Name != "" {
			w.text(" AUTHORIZATION ")
			w.principal(s.Authorization)
		}
		for _, e := range s.Elements {
			w.text(" ")
			w.simple(e)
		}
	case *syntax.AlterSchemaStmt:
		w.text("ALTER SCHEMA ")
		w.ident(s.Name)
		w.text(" TRANSFER ")
		w.textIf(s.Class != "", s.Class, "::")
		w.name(s.Object)
	case *syntax.CreateDatabaseStmt:
		w.text("CREATE DATABASE ")
		w.ident(s.Name)
		w.textIf(s.Containment != "", " CONTAINMENT = ", s.Containment)
		w.textIf(s.Files, " ON ()")
		w.textIf(s.Collation != "", " COLLATE ", s.Collation)
		if s.CopyOf != nil {
			w.text(" AS COPY OF ")
			w.name(s.CopyOf)
		}
		w.named(" AS SNAPSHOT OF ", s.Snapshot)
		w.textIf(s.ForAttach, " FOR ATTACH")
		w.bareOptions(" WITH ", s.Options)
	case *syntax.AlterDatabaseStmt:
		w.alterDatabase(s)
	default:
		w.security(s)
	}
}

// alterDatabase writes ALTER DATABASE.
func (w *printer) alterDatabase(s *syntax.AlterDatabaseStmt) {
	w.text("ALTER DATABASE ")
	if s.Scoped {
		w.text("SCOPED CONFIGURATION ")
		w.textIf(len(s.Set) != 1 || len(s.Set[0].Name) < 6 || s.Set[0].Name[:6] != "CLEAR ", "SET ")
		nodes(w, s.Set)
		return
	}
	w.textIf(s.Name.Name == "", "CURRENT")
	w.ident(s.Name)
	w.bareOptions(" SET ", s.Set)
	if s.Termination != "" {
		w.text(" WITH ", s.Termination)
		if s.Termination == "ROLLBACK AFTER" {
			w.text(" ", strconv.Itoa(s.After))
		}
	}
	w.named(" MODIFY NAME = ", s.NewName)
	w.textIf(s.Collation != "", " COLLATE ", s.Collation)
	if s.Modify != nil {
		w.text(" MODIFY (")
		nodes(w, s.Modify)
		w.text(")")
	}
	w.textIf(s.Files != "", " ", s.Files, " ()")
}

// tableDef writes a table definition in parentheses.
func (w *printer) tableDef(d *syntax.TableDef) {
	w.text("(")
	w.elements(d)
	w.text(")")
}

// elements writes columns, then constraints, then indexes.
func (w *printer) elements(d *syntax.TableDef) {
	nodes(w, d.Columns)
	w.textIf(len(d.Columns) > 0 && len(d.Constraints) > 0, ", ")
	nodes(w, d.Constraints)
	w.textIf(len(d.Columns)+len(d.Constraints) > 0 && len(d.Indexes) > 0, ", ")
	nodes(w, d.Indexes)
}

// column writes a column.
func (w *printer) column(c *syntax.ColumnDef) {
	w.ident(c.Name)
	if c.Computed != nil {
		w.text(" AS ")
		w.expr(c.Computed)
		w.textIf(c.Persisted, " PERSISTED")
	} else if c.Type != nil {
		w.text(" ")
		w.typeRef(c.Type)
	}
	w.textIf(c.Collation != "", " COLLATE ", c.Collation)
	w.textIf(c.Sparse, " SPARSE")
	w.null(c.Null)
	if c.Identity != nil {
		w.text(" ")
		w.identity(c.Identity)
	}
	w.textIf(c.RowGUIDCol, " ROWGUIDCOL")
	if c.Default != nil {
		w.text(" ")
		w.constraint(c.Default)
	}
	for _, k := range c.Constraints {
		w.text(" ")
		w.constraint(k)
	}
	if c.Index != nil {
		w.text(" ")
		w.inlineIndex(c.Index)
	}
}

// identity writes IDENTITY.
func (w *printer) identity(i *syntax.IdentitySpec) {
	w.text("IDENTITY(", i.Seed, ", ", i.Increment, ")")
	w.textIf(i.NotForReplication, " NOT FOR REPLICATION")
}

// constraint writes a constraint.
func (w *printer) constraint(c syntax.Constraint) {
	if name := c.ConstraintName(); name.Name != "" {
		w.text("CONSTRAINT ")
		w.ident(name)
		w.text(" ")
	}
	switch c := c.(type) {
	case *syntax.KeyConstraint:
		w.text(map[bool]string{true: "PRIMARY KEY", false: "UNIQUE"}[c.Primary])
		w.clustering(" ", c.Clustering, "")
		w.indexColumns(c.Columns)
		w.withOptions(c.Options)
		w.named(" ON ", c.On)
	case *syntax.ForeignKeyConstraint:
		if len(c.Columns) > 0 {
			w.text("FOREIGN KEY")
			w.idents(c.Columns)
			w.text(" ")
		}
		w.text("REFERENCES ")
		w.name(c.RefTable)
		w.idents(c.RefColumns)
		action := map[syntax.RefAction]string{syntax.Cascade: "CASCADE", syntax.SetNull: "SET NULL", syntax.SetDefault: "SET DEFAULT"}
		w.textIf(c.OnDelete != syntax.NoAction, " ON DELETE ", action[c.OnDelete])
		w.textIf(c.OnUpdate != syntax.NoAction, " ON UPDATE ", action[c.OnUpdate])
		w.textIf(c.NotForReplication, " NOT FOR REPLICATION")
	case *syntax.CheckConstraint:
		w.text("CHECK ")
		w.textIf(c.NotForReplication, "NOT FOR REPLICATION ")
		w.text("(")
		w.cond(c.Cond)
		w.text(")")
	case *syntax.DefaultConstraint:
		w.text("DEFAULT ")
		w.expr(c.Value)
		w.named(" FOR ", c.Column)
		w.textIf(c.WithValues, " WITH VALUES")
	}
}

// clustering writes CLUSTERED or NONCLUSTERED.
func (w *printer) clustering(before string, c syntax.Clustering, behind string) {
	w.textIf(c == syntax.Clustered, before, "CLUSTERED", behind)
	w.textIf(c == syntax.NonClustered, before, "NONCLUSTERED", behind)
}

// indexColumns writes a blank and columns in parentheses.
func (w *printer) indexColumns(list []*syntax.IndexColumn) {
	if len(list) > 0 {
		w.text(" (")
		nodes(w, list)
		w.text(")")
	}
}

// indexColumn writes a column of a key or index.
func (w *printer) indexColumn(c *syntax.IndexColumn) {
	w.ident(c.Name)
	w.textIf(c.Desc, " DESC")
}

// createIndex writes CREATE INDEX.
func (w *printer) createIndex(s *syntax.CreateIndexStmt) {
	w.text("CREATE ")
	w.textIf(s.Def.Unique, "UNIQUE ")
	w.clustering("", s.Def.Clustering, " ")
	w.textIf(s.Def.Columnstore, "COLUMNSTORE ")
	w.text("INDEX ")
	w.ident(s.Def.Name)
	w.text(" ON ")
	w.name(s.Table)
	w.indexTail(s.Def)
}

// inlineIndex writes an index inside a table definition.
func (w *printer) inlineIndex(d *syntax.IndexDef) {
	w.text("INDEX ")
	w.ident(d.Name)
	w.textIf(d.Unique, " UNIQUE")
	w.clustering(" ", d.Clustering, "")
	w.textIf(d.Columnstore, " COLUMNSTORE")
	w.indexTail(d)
}

// indexTail writes the columns of an index and the clauses after them.
func (w *printer) indexTail(d *syntax.IndexDef) {
	w.indexColumns(d.Columns)
	if len(d.Include) > 0 {
		w.text(" INCLUDE")
		w.idents(d.Include)
	}
	w.where(d.Where, nil)
	w.withOptions(d.Options)
	w.named(" ON ", d.On)
}

// dropIndexItem writes an index to drop.
func (w *printer) dropIndexItem(d *syntax.DropIndexItem) {
	w.ident(d.Index)
	w.text(" ON ")
	w.name(d.Table)
	w.withOptions(d.Options)
}

// mode writes WITH CHECK or WITH NOCHECK.
func (w *printer) mode(m syntax.CheckMode) {
	w.textIf(m == syntax.WithCheck, "WITH CHECK ")
	w.textIf(m == syntax.WithNoCheck, "WITH NOCHECK ")
}

// allOr writes names, or ALL if there are none.
func (w *printer) allOr(ids []syntax.Ident) {
	w.textIf(len(ids) == 0, "ALL")
	writeList(w, ids, w.ident)
}

// alterAction writes the action of ALTER TABLE.
func (w *printer) alterAction(a syntax.AlterTableAction) {
	switch a := a.(type) {
	case *syntax.AlterAdd:
		w.mode(a.Mode)
		w.text("ADD ")
		w.elements(a.Def)
	case *syntax.AlterDrop:
		w.text("DROP ")
		nodes(w, a.Items)
	case *syntax.AlterColumn:
		w.text("ALTER COLUMN ")
		w.column(a.Column)
		w.textIf(a.Add != "", " ADD ", a.Add)
		w.textIf(a.Drop != "", " DROP ", a.Drop)
	case *syntax.AlterCheck:
		w.mode(a.Mode)
		w.text(map[bool]string{true: "CHECK CONSTRAINT ", false: "NOCHECK CONSTRAINT "}[a.Enable])
		w.allOr(a.Names)
	case *syntax.AlterTrigger:
		w.text(map[bool]string{true: "ENABLE TRIGGER ", false: "DISABLE TRIGGER "}[a.Enable])
		w.allOr(a.Names)
	case *syntax.AlterSet:
		w.text("SET (")
		nodes(w, a.Options)
		w.text(")")
	case *syntax.AlterRebuild:
		w.text("REBUILD")
		w.optional(" PARTITION = ", a.Partition)
		w.withOptions(a.Options)
	case *syntax.AlterSwitch:
		w.text("SWITCH")
		w.optional(" PARTITION ", a.Partition)
		w.text(" TO ")
		w.name(a.To)
		w.optional(" PARTITION ", a.ToPartition)
	}
}

// dropItem writes a column or constraint to drop.
func (w *printer) dropItem(i *syntax.AlterDropItem) {
	w.text(map[bool]string{true: "COLUMN ", false: "CONSTRAINT "}[i.Column])
	w.textIf(i.IfExists, "IF EXISTS ")
	w.ident(i.Name)
}

// sequence writes CREATE and ALTER SEQUENCE.
func (w *printer) sequence(s *syntax.SequenceStmt) {
	w.verb(s.Verb)
	w.text("SEQUENCE ")
	w.name(s.Name)
	if s.Type != nil {
		w.text(" AS ")
		w.typeRef(s.Type)
	}
	switch {
	case s.Restart:
		w.text(" RESTART")
		w.textIf(s.StartWith != "", " WITH ", s.StartWith)
	case s.StartWith != "":
		w.text(" START WITH ", s.StartWith)
	}
	w.textIf(s.Step != "", " INCREMENT BY ", s.Step)
	w.textIf(s.Min != "", " MINVALUE ", s.Min)
	w.textIf(s.NoMin, " NO MINVALUE")
	w.textIf(s.Max != "", " MAXVALUE ", s.Max)
	w.textIf(s.NoMax, " NO MAXVALUE")
	w.textIf(s.Cycle, " CYCLE")
	w.textIf(s.NoCycle, " NO CYCLE")
	w.textIf(s.HasCache, " CACHE")
	w.textIf(s.Cache != "", " ", s.Cache)
	w.textIf(s.NoCache, " NO CACHE")
}

// moduleOptions writes a blank and WITH options.
func (w *printer) moduleOptions(o syntax.ModuleOptions) {
	var opts []string
	add := func(ok bool, text string) {
		if ok {
			opts = append(opts, text)
		}
	}
	add(o.Encryption, "ENCRYPTION")
	add(o.SchemaBinding, "SCHEMABINDING")
	add(o.Recompile, "RECOMPILE")
	add(o.ViewMetadata, "VIEW_METADATA")
	add(o.NativeCompiled, "NATIVE_COMPILATION")
	add(o.ReturnsNull, "RETURNS NULL ON NULL INPUT")
	add(o.CalledOnNull, "CALLED ON NULL INPUT")
	add(o.Inline != "", "INLINE = "+o.Inline)
	switch {
	case o.ExecuteAsIsQuote:
		opts = append(opts, "EXECUTE AS "+quoteString(o.ExecuteAs))
	case o.ExecuteAs != "":
		opts = append(opts, "EXECUTE AS "+o.ExecuteAs)
	}
	if opts != nil {
		w.text(" WITH ")
		writeList(w, opts, func(s string) { w.text(s) })
	}
}

// param writes a parameter.
func (w *printer) param(a *syntax.Param) {
	w.text(a.Name, " ")
	w.typeRef(a.Type)
	w.textIf(a.Varying, " VARYING")
	w.null(a.Null)
	w.optional(" = ", a.Default)
	w.textIf(a.Output, " OUTPUT")
	w.textIf(a.ReadOnly, " READONLY")
}

// procedure writes a procedure.
func (w *printer) procedure(s *syntax.CreateProcedureStmt) {
	w.verb(s.Verb)
	w.text("PROCEDURE ")
	w.name(s.Name)
	w.textIf(s.Number != 0, ";", strconv.Itoa(s.Number))
	w.textIf(len(s.Params) > 0, " ")
	nodes(w, s.Params)
	w.moduleOptions(s.Options)
	w.textIf(s.ForReplication, " FOR REPLICATION")
	w.text(" AS")
	w.stmts(s.Body)
}

// function writes a function.
func (w *printer) function(s *syntax.CreateFunctionStmt) {
	w.verb(s.Verb)
	w.text("FUNCTION ")
	w.name(s.Name)
	w.text("(")
	nodes(w, s.Params)
	w.text(") RETURNS ")
	switch {
	case s.Query != nil:
		w.text("TABLE")
	case s.TableVar != "":
		w.text(s.TableVar, " TABLE ")
		w.tableDef(s.Table)
	default:
		w.typeRef(s.Returns)
	}
	w.moduleOptions(s.Options)
	w.text(" AS")
	if s.Query != nil {
		w.text(" RETURN ")
		w.query(s.Query)
		return
	}
	w.line()
	w.text("BEGIN")
	w.stmts(s.Body)
	w.line()
	w.text("END")
}

// createTrigger writes a trigger.
func (w *printer) createTrigger(s *syntax.CreateTriggerStmt) {
	w.verb(s.Verb)
	w.text("TRIGGER ")
	w.name(s.Name)
	w.triggerPlace(s.Table, s.OnDatabase, s.OnServer)
	w.moduleOptions(s.Options)
	w.text(map[bool]string{true: " INSTEAD OF ", false: " AFTER "}[s.InsteadOf])
	writeList(w, s.Events, func(e string) { w.text(e) })
	w.textIf(s.NotForReplication, " NOT FOR REPLICATION")
	w.text(" AS")
	w.stmts(s.Body)
}

// triggerPlace writes ON and the place of a trigger.
func (w *printer) triggerPlace(on *syntax.ObjectName, database, server bool) {
	w.text(" ON ")
	w.textIf(database, "DATABASE")
	w.textIf(server, "ALL SERVER")
	w.name(on)
}
