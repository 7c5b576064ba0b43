package printer

import (
	"strconv"

	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
)

// ddl writes the definitions of tables, indexes and other objects.
func ddl(w *writer, s syntax.Stmt) {
	switch s := s.(type) {
	case *syntax.CreateTableStmt:
		w.put("CREATE TABLE ", s.Name, " ", s.Def)
		named(w, " ON ", s.On)
		named(w, " TEXTIMAGE_ON ", s.TextImageOn)
		listed(w, " WITH (", s.Options, ")")
	case *syntax.AlterTableStmt:
		w.put("ALTER TABLE ", s.Table, " ", s.Action)
	case *syntax.CreateIndexStmt:
		createIndex(w, s)
	case *syntax.AlterIndexStmt:
		alterIndex(w, s)
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
		function(w, s)
	case *syntax.CreateViewStmt:
		view(w, s)
	case *syntax.CreateTypeStmt:
		createType(w, s)
	case *syntax.SequenceStmt:
		sequence(w, s)
	case *syntax.CreateSynonymStmt:
		w.put("CREATE SYNONYM ", s.Name, " FOR ", s.Target)
	case *syntax.CreateStatisticsStmt:
		w.put("CREATE STATISTICS ", s.Name, " ON ", s.Table)
		idents(w, s.Columns)
		where(w, s.Where, nil)
		listed(w, " WITH ", s.Options)
	case *syntax.UpdateStatisticsStmt:
		w.put("UPDATE STATISTICS ", s.Table)
		idents(w, s.Names)
		listed(w, " WITH ", s.Options)
	case *syntax.TriggerStmt:
		w.text(either(s.Enable, "ENABLE TRIGGER ", "DISABLE TRIGGER "))
		w.textIf(len(s.Names) == 0, "ALL")
		nodes(w, s.Names)
		triggerPlace(w, s.Table, s.OnDatabase, s.OnServer)
	default:
		database(w, s)
	}
}

// alterIndex writes ALTER INDEX.
func alterIndex(w *writer, s *syntax.AlterIndexStmt) {
	w.text("ALTER INDEX ")
	w.textIf(s.Name.Name == "", "ALL")
	w.put(s.Name, " ON ", s.Table, " ", s.Action)
	opt(w, " PARTITION = ", s.Partition)
	if s.Action == "SET" {
		list(w, " (", s.Options, ")")
		return
	}
	listed(w, " WITH (", s.Options, ")")
}

// view writes a view.
func view(w *writer, s *syntax.CreateViewStmt) {
	w.put(s.Verb.String(), " VIEW ", s.Name)
	idents(w, s.Columns)
	moduleOptions(w, s.Options)
	w.put(" AS ", s.Query)
	w.textIf(s.CheckOption, " WITH CHECK OPTION")
}

// createType writes CREATE TYPE.
func createType(w *writer, s *syntax.CreateTypeStmt) {
	w.put("CREATE TYPE ", s.Name)
	if s.From != nil {
		w.put(" FROM ", s.From)
		null(w, s.Null)
		return
	}
	w.put(" AS TABLE ", s.Table)
}

// database writes definitions of schemas and databases.
func database(w *writer, s syntax.Stmt) {
	switch s := s.(type) {
	case *syntax.CreateSchemaStmt:
		w.text("CREATE SCHEMA")
		named(w, " ", s.Name)
		if s.Authorization.Name != "" {
			w.text(" AUTHORIZATION ")
			principal(w, s.Authorization)
		}
		for _, e := range s.Elements {
			w.text(" ")
			simple(w, e)
		}
	case *syntax.AlterSchemaStmt:
		w.put("ALTER SCHEMA ", s.Name, " TRANSFER ")
		w.textIf(s.Class != "", s.Class, "::")
		name(w, s.Object)
	case *syntax.CreateDatabaseStmt:
		w.put("CREATE DATABASE ", s.Name)
		w.textIf(s.Containment != "", " CONTAINMENT = ", s.Containment)
		w.textIf(s.Files, " ON ()")
		w.textIf(s.Collation != "", " COLLATE ", s.Collation)
		opt(w, " AS COPY OF ", s.CopyOf)
		named(w, " AS SNAPSHOT OF ", s.Snapshot)
		w.textIf(s.ForAttach, " FOR ATTACH")
		listed(w, " WITH ", s.Options)
	case *syntax.AlterDatabaseStmt:
		alterDatabase(w, s)
	default:
		security(w, s)
	}
}

// alterDatabase writes ALTER DATABASE.
func alterDatabase(w *writer, s *syntax.AlterDatabaseStmt) {
	w.text("ALTER DATABASE ")
	if s.Scoped {
		w.text("SCOPED CONFIGURATION ")
		w.textIf(len(s.Set) != 1 || len(s.Set[0].Name) < 6 || s.Set[0].Name[:6] != "CLEAR ", "SET ")
		nodes(w, s.Set)
		return
	}
	w.textIf(s.Name.Name == "", "CURRENT")
	ident(w, s.Name)
	listed(w, " SET ", s.Set)
	if s.Termination != "" {
		w.text(" WITH ", s.Termination)
		if s.Termination == "ROLLBACK AFTER" {
			w.text(" ", strconv.Itoa(s.After))
		}
	}
	named(w, " MODIFY NAME = ", s.NewName)
	w.textIf(s.Collation != "", " COLLATE ", s.Collation)
	listed(w, " MODIFY (", s.Modify, ")")
	w.textIf(s.Files != "", " ", s.Files, " ()")
}

// tableDef writes a table definition in parentheses.
func tableDef(w *writer, d *syntax.TableDef) {
	w.text("(")
	elements(w, d)
	w.text(")")
}

// elements writes columns, then constraints, then indexes.
func elements(w *writer, d *syntax.TableDef) {
	nodes(w, d.Columns)
	w.textIf(len(d.Columns) > 0 && len(d.Constraints) > 0, ", ")
	nodes(w, d.Constraints)
	w.textIf(len(d.Columns)+len(d.Constraints) > 0 && len(d.Indexes) > 0, ", ")
	nodes(w, d.Indexes)
}

// column writes a column.
func column(w *writer, c *syntax.ColumnDef) {
	ident(w, c.Name)
	if c.Computed != nil {
		w.put(" AS ", c.Computed)
		w.textIf(c.Persisted, " PERSISTED")
	} else if c.Type != nil {
		w.put(" ", c.Type)
	}
	w.textIf(c.Collation != "", " COLLATE ", c.Collation)
	w.textIf(c.Sparse, " SPARSE")
	null(w, c.Null)
	opt(w, " ", c.Identity)
	w.textIf(c.RowGUIDCol, " ROWGUIDCOL")
	opt(w, " ", c.Default)
	for _, k := range c.Constraints {
		w.put(" ", k)
	}
	opt(w, " ", c.Index)
}

// identity writes IDENTITY.
func identity(w *writer, i *syntax.IdentitySpec) {
	w.text("IDENTITY(", i.Seed, ", ", i.Increment, ")")
	w.textIf(i.NotForReplication, " NOT FOR REPLICATION")
}

// constraint writes a constraint.
func constraint(w *writer, c syntax.Constraint) {
	if name := c.ConstraintName(); name.Name != "" {
		w.text("CONSTRAINT ", identText(name), " ")
	}
	switch c := c.(type) {
	case *syntax.KeyConstraint:
		w.text(either(c.Primary, "PRIMARY KEY", "UNIQUE"))
		clustering(w, " ", c.Clustering, "")
		listed(w, " (", c.Columns, ")")
		listed(w, " WITH (", c.Options, ")")
		named(w, " ON ", c.On)
	case *syntax.ForeignKeyConstraint:
		if len(c.Columns) > 0 {
			w.text("FOREIGN KEY")
			idents(w, c.Columns)
			w.text(" ")
		}
		w.put("REFERENCES ", c.RefTable)
		idents(w, c.RefColumns)
		action := map[syntax.RefAction]string{syntax.Cascade: "CASCADE", syntax.SetNull: "SET NULL", syntax.SetDefault: "SET DEFAULT"}
		w.textIf(c.OnDelete != syntax.NoAction, " ON DELETE ", action[c.OnDelete])
		w.textIf(c.OnUpdate != syntax.NoAction, " ON UPDATE ", action[c.OnUpdate])
		w.textIf(c.NotForReplication, " NOT FOR REPLICATION")
	case *syntax.CheckConstraint:
		w.text("CHECK ")
		w.textIf(c.NotForReplication, "NOT FOR REPLICATION ")
		w.put("(", c.Cond, ")")
	case *syntax.DefaultConstraint:
		w.put("DEFAULT ", c.Value)
		named(w, " FOR ", c.Column)
		w.textIf(c.WithValues, " WITH VALUES")
	}
}

// clustering writes CLUSTERED or NONCLUSTERED.
func clustering(w *writer, before string, c syntax.Clustering, behind string) {
	w.textIf(c == syntax.Clustered, before, "CLUSTERED", behind)
	w.textIf(c == syntax.NonClustered, before, "NONCLUSTERED", behind)
}

// indexColumn writes a column of a key or index.
func indexColumn(w *writer, c *syntax.IndexColumn) {
	ident(w, c.Name)
	w.textIf(c.Desc, " DESC")
}

// createIndex writes CREATE INDEX.
func createIndex(w *writer, s *syntax.CreateIndexStmt) {
	w.text("CREATE ")
	w.textIf(s.Def.Unique, "UNIQUE ")
	clustering(w, "", s.Def.Clustering, " ")
	w.textIf(s.Def.Columnstore, "COLUMNSTORE ")
	w.put("INDEX ", s.Def.Name, " ON ", s.Table)
	indexTail(w, s.Def)
}

// inlineIndex writes an index inside a table definition.
func inlineIndex(w *writer, d *syntax.IndexDef) {
	w.put("INDEX ", d.Name)
	w.textIf(d.Unique, " UNIQUE")
	clustering(w, " ", d.Clustering, "")
	w.textIf(d.Columnstore, " COLUMNSTORE")
	indexTail(w, d)
}

// indexTail writes the columns of an index and the clauses after them.
func indexTail(w *writer, d *syntax.IndexDef) {
	listed(w, " (", d.Columns, ")")
	if len(d.Include) > 0 {
		w.text(" INCLUDE")
		idents(w, d.Include)
	}
	where(w, d.Where, nil)
	listed(w, " WITH (", d.Options, ")")
	named(w, " ON ", d.On)
}

// dropIndexItem writes an index to drop.
func dropIndexItem(w *writer, d *syntax.DropIndexItem) {
	w.put(d.Index, " ON ", d.Table)
	listed(w, " WITH (", d.Options, ")")
}

// mode writes WITH CHECK or WITH NOCHECK.
func mode(w *writer, m syntax.CheckMode) {
	w.textIf(m == syntax.WithCheck, "WITH CHECK ")
	w.textIf(m == syntax.WithNoCheck, "WITH NOCHECK ")
}

// allOr writes names, or ALL if there are none.
func allOr(w *writer, ids []syntax.Ident) {
	w.textIf(len(ids) == 0, "ALL")
	identList(w, ids)
}

// alterAction writes the action of ALTER TABLE.
func alterAction(w *writer, a syntax.AlterTableAction) {
	switch a := a.(type) {
	case *syntax.AlterAdd:
		mode(w, a.Mode)
		w.text("ADD ")
		elements(w, a.Def)
	case *syntax.AlterDrop:
		list(w, "DROP ", a.Items)
	case *syntax.AlterColumn:
		w.put("ALTER COLUMN ", a.Column)
		w.textIf(a.Add != "", " ADD ", a.Add)
		w.textIf(a.Drop != "", " DROP ", a.Drop)
	case *syntax.AlterCheck:
		mode(w, a.Mode)
		w.text(either(a.Enable, "CHECK CONSTRAINT ", "NOCHECK CONSTRAINT "))
		allOr(w, a.Names)
	case *syntax.AlterTrigger:
		w.text(either(a.Enable, "ENABLE TRIGGER ", "DISABLE TRIGGER "))
		allOr(w, a.Names)
	case *syntax.AlterSet:
		list(w, "SET (", a.Options, ")")
	case *syntax.AlterRebuild:
		w.text("REBUILD")
		opt(w, " PARTITION = ", a.Partition)
		listed(w, " WITH (", a.Options, ")")
	case *syntax.AlterSwitch:
		w.text("SWITCH")
		opt(w, " PARTITION ", a.Partition)
		w.put(" TO ", a.To)
		opt(w, " PARTITION ", a.ToPartition)
	}
}

// dropItem writes a column or constraint to drop.
func dropItem(w *writer, i *syntax.AlterDropItem) {
	w.text(either(i.Column, "COLUMN ", "CONSTRAINT "))
	w.textIf(i.IfExists, "IF EXISTS ")
	ident(w, i.Name)
}

// sequence writes CREATE and ALTER SEQUENCE.
func sequence(w *writer, s *syntax.SequenceStmt) {
	w.put(s.Verb.String(), " SEQUENCE ", s.Name)
	opt(w, " AS ", s.Type)
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
func moduleOptions(w *writer, o syntax.ModuleOptions) {
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
		words(w, opts)
	}
}

// param writes a parameter.
func param(w *writer, a *syntax.Param) {
	w.text(a.Name, " ")
	typeRef(w, a.Type)
	w.textIf(a.Varying, " VARYING")
	null(w, a.Null)
	opt(w, " = ", a.Default)
	w.textIf(a.Output, " OUTPUT")
	w.textIf(a.ReadOnly, " READONLY")
}

// procedure writes a procedure.
func procedure(w *writer, s *syntax.CreateProcedureStmt) {
	w.put(s.Verb.String(), " PROCEDURE ", s.Name)
	w.textIf(s.Number != 0, ";", strconv.Itoa(s.Number))
	w.textIf(len(s.Params) > 0, " ")
	nodes(w, s.Params)
	moduleOptions(w, s.Options)
	w.textIf(s.ForReplication, " FOR REPLICATION")
	w.text(" AS")
	stmts(w, s.Body)
}

// function writes a function.
func function(w *writer, s *syntax.CreateFunctionStmt) {
	w.put(s.Verb.String(), " FUNCTION ", s.Name)
	list(w, "(", s.Params, ") RETURNS ")
	switch {
	case s.Query != nil:
		w.text("TABLE")
	case s.TableVar != "":
		w.put(s.TableVar, " TABLE ", s.Table)
	default:
		typeRef(w, s.Returns)
	}
	moduleOptions(w, s.Options)
	w.text(" AS")
	if s.Query != nil {
		w.put(" RETURN ", s.Query)
		return
	}
	w.line()
	w.text("BEGIN")
	stmts(w, s.Body)
	w.line()
	w.text("END")
}

// createTrigger writes a trigger.
func createTrigger(w *writer, s *syntax.CreateTriggerStmt) {
	w.put(s.Verb.String(), " TRIGGER ", s.Name)
	triggerPlace(w, s.Table, s.OnDatabase, s.OnServer)
	moduleOptions(w, s.Options)
	w.text(either(s.InsteadOf, " INSTEAD OF ", " AFTER "))
	words(w, s.Events)
	w.textIf(s.NotForReplication, " NOT FOR REPLICATION")
	w.text(" AS")
	stmts(w, s.Body)
}

// triggerPlace writes ON and the place of a trigger.
func triggerPlace(w *writer, on *syntax.ObjectName, database, server bool) {
	w.text(" ON ")
	w.textIf(database, "DATABASE")
	w.textIf(server, "ALL SERVER")
	name(w, on)
}
