package syntax

import "strconv"

// verb writes CREATE, ALTER or CREATE OR ALTER.
func (w *printer) verb(v Verb) {
	w.w(map[Verb]string{Create: "CREATE ", Alter: "ALTER ", CreateOrAlter: "CREATE OR ALTER "}[v])
}

// ddl writes the definitions of tables, indexes and other objects.
func (w *printer) ddl(s Stmt) {
	switch s := s.(type) {
	case *CreateTableStmt:
		w.w("CREATE TABLE ")
		w.name(s.Name)
		w.w(" ")
		w.tableDef(s.Def)
		w.named(" ON ", s.On)
		w.named(" TEXTIMAGE_ON ", s.TextImageOn)
		w.withOptions(s.Options)
	case *AlterTableStmt:
		w.w("ALTER TABLE ")
		w.name(s.Table)
		w.w(" ")
		w.alterAction(s.Action)
	case *CreateIndexStmt:
		w.createIndex(s)
	case *AlterIndexStmt:
		w.w("ALTER INDEX ")
		w.when(s.Name.Name == "", "ALL")
		w.ident(s.Name)
		w.w(" ON ")
		w.name(s.Table)
		w.w(" ", s.Action)
		w.optional(" PARTITION = ", s.Partition)
		if s.Action == "SET" {
			w.w(" (")
			nodes(w, s.Options)
			w.w(")")
			return
		}
		w.withOptions(s.Options)
	case *DropIndexStmt:
		w.w("DROP INDEX ")
		w.when(s.IfExists, "IF EXISTS ")
		nodes(w, s.Items)
	case *DropStmt:
		w.w("DROP ", s.Kind)
		w.when(s.IfExists, " IF EXISTS")
		w.when(len(s.Names) > 0, " ")
		nodes(w, s.Names)
		w.when(s.OnDatabase, " ON DATABASE")
		w.when(s.OnServer, " ON ALL SERVER")
	case *CreateFunctionStmt:
		w.function(s)
	case *CreateViewStmt:
		w.verb(s.Verb)
		w.w("VIEW ")
		w.name(s.Name)
		w.idents(s.Columns)
		w.moduleOptions(s.Options)
		w.w(" AS ")
		w.query(s.Query)
		w.when(s.CheckOption, " WITH CHECK OPTION")
	case *CreateTypeStmt:
		w.w("CREATE TYPE ")
		w.name(s.Name)
		if s.From != nil {
			w.w(" FROM ")
			w.typeRef(s.From)
			w.null(s.Null)
			return
		}
		w.w(" AS TABLE ")
		w.tableDef(s.Table)
	case *SequenceStmt:
		w.sequence(s)
	case *CreateSynonymStmt:
		w.w("CREATE SYNONYM ")
		w.name(s.Name)
		w.w(" FOR ")
		w.name(s.Target)
	case *CreateStatisticsStmt:
		w.w("CREATE STATISTICS ")
		w.ident(s.Name)
		w.w(" ON ")
		w.name(s.Table)
		w.idents(s.Columns)
		w.where(s.Where, nil)
		w.bareOptions(" WITH ", s.Options)
	case *UpdateStatisticsStmt:
		w.w("UPDATE STATISTICS ")
		w.name(s.Table)
		w.idents(s.Names)
		w.bareOptions(" WITH ", s.Options)
	case *TriggerStmt:
		w.w(map[bool]string{true: "ENABLE TRIGGER ", false: "DISABLE TRIGGER "}[s.Enable])
		w.when(len(s.Names) == 0, "ALL")
		nodes(w, s.Names)
		w.triggerPlace(s.Table, s.OnDatabase, s.OnServer)
	default:
		w.database(s)
	}
}

// named writes before and a name unless there is none.
func (w *printer) named(before string, id Ident) {
	if id.Name != "" {
		w.w(before)
		w.ident(id)
	}
}

// bareOptions writes before and options without parentheses.
func (w *printer) bareOptions(before string, list []*Option) {
	if len(list) > 0 {
		w.w(before)
		nodes(w, list)
	}
}

// database writes definitions of schemas and databases.
func (w *printer) database(s Stmt) {
	switch s := s.(type) {
	case *CreateSchemaStmt:
		w.w("CREATE SCHEMA")
		w.named(" ", s.Name)
		if s.Authorization.Name != "" {
			w.w(" AUTHORIZATION ")
			w.principal(s.Authorization)
		}
		for _, e := range s.Elements {
			w.w(" ")
			w.simple(e)
		}
	case *AlterSchemaStmt:
		w.w("ALTER SCHEMA ")
		w.ident(s.Name)
		w.w(" TRANSFER ")
		w.when(s.Class != "", s.Class, "::")
		w.name(s.Object)
	case *CreateDatabaseStmt:
		w.w("CREATE DATABASE ")
		w.ident(s.Name)
		w.when(s.Containment != "", " CONTAINMENT = ", s.Containment)
		w.when(s.Files, " ON ()")
		w.when(s.Collation != "", " COLLATE ", s.Collation)
		if s.CopyOf != nil {
			w.w(" AS COPY OF ")
			w.name(s.CopyOf)
		}
		w.named(" AS SNAPSHOT OF ", s.Snapshot)
		w.when(s.ForAttach, " FOR ATTACH")
		w.bareOptions(" WITH ", s.Options)
	case *AlterDatabaseStmt:
		w.alterDatabase(s)
	default:
		w.security(s)
	}
}

// alterDatabase writes ALTER DATABASE.
func (w *printer) alterDatabase(s *AlterDatabaseStmt) {
	w.w("ALTER DATABASE ")
	if s.Scoped {
		w.w("SCOPED CONFIGURATION ")
		w.when(len(s.Set) != 1 || len(s.Set[0].Name) < 6 || s.Set[0].Name[:6] != "CLEAR ", "SET ")
		nodes(w, s.Set)
		return
	}
	w.when(s.Name.Name == "", "CURRENT")
	w.ident(s.Name)
	w.bareOptions(" SET ", s.Set)
	if s.Termination != "" {
		w.w(" WITH ", s.Termination)
		if s.Termination == "ROLLBACK AFTER" {
			w.w(" ", strconv.Itoa(s.After))
		}
	}
	w.named(" MODIFY NAME = ", s.NewName)
	w.when(s.Collation != "", " COLLATE ", s.Collation)
	if s.Modify != nil {
		w.w(" MODIFY (")
		nodes(w, s.Modify)
		w.w(")")
	}
	w.when(s.Files != "", " ", s.Files, " ()")
}

// tableDef writes a table's definition in parentheses.
func (w *printer) tableDef(d *TableDef) {
	w.w("(")
	w.elements(d)
	w.w(")")
}

// elements writes columns, then constraints, then indexes.
func (w *printer) elements(d *TableDef) {
	nodes(w, d.Columns)
	w.when(len(d.Columns) > 0 && len(d.Constraints) > 0, ", ")
	nodes(w, d.Constraints)
	w.when(len(d.Columns)+len(d.Constraints) > 0 && len(d.Indexes) > 0, ", ")
	nodes(w, d.Indexes)
}

// column writes a column.
func (w *printer) column(c *ColumnDef) {
	w.ident(c.Name)
	if c.Computed != nil {
		w.w(" AS ")
		w.expr(c.Computed)
		w.when(c.Persisted, " PERSISTED")
	} else if c.Type != nil {
		w.w(" ")
		w.typeRef(c.Type)
	}
	w.when(c.Collation != "", " COLLATE ", c.Collation)
	w.when(c.Sparse, " SPARSE")
	w.null(c.Null)
	if c.Identity != nil {
		w.w(" ")
		w.identity(c.Identity)
	}
	w.when(c.RowGUIDCol, " ROWGUIDCOL")
	if c.Default != nil {
		w.w(" ")
		w.constraint(c.Default)
	}
	for _, k := range c.Constraints {
		w.w(" ")
		w.constraint(k)
	}
	if c.Index != nil {
		w.w(" ")
		w.inlineIndex(c.Index)
	}
}

// identity writes IDENTITY.
func (w *printer) identity(i *IdentitySpec) {
	w.w("IDENTITY(", i.Seed, ", ", i.Increment, ")")
	w.when(i.NotForReplication, " NOT FOR REPLICATION")
}

// constraint writes a constraint.
func (w *printer) constraint(c Constraint) {
	if name := c.ConstraintName(); name.Name != "" {
		w.w("CONSTRAINT ")
		w.ident(name)
		w.w(" ")
	}
	switch c := c.(type) {
	case *KeyConstraint:
		w.w(map[bool]string{true: "PRIMARY KEY", false: "UNIQUE"}[c.Primary])
		w.clustering(" ", c.Clustering, "")
		w.indexColumns(c.Columns)
		w.withOptions(c.Options)
		w.named(" ON ", c.On)
	case *ForeignKeyConstraint:
		if len(c.Columns) > 0 {
			w.w("FOREIGN KEY")
			w.idents(c.Columns)
			w.w(" ")
		}
		w.w("REFERENCES ")
		w.name(c.RefTable)
		w.idents(c.RefColumns)
		action := map[RefAction]string{Cascade: "CASCADE", SetNull: "SET NULL", SetDefault: "SET DEFAULT"}
		w.when(c.OnDelete != NoAction, " ON DELETE ", action[c.OnDelete])
		w.when(c.OnUpdate != NoAction, " ON UPDATE ", action[c.OnUpdate])
		w.when(c.NotForReplication, " NOT FOR REPLICATION")
	case *CheckConstraint:
		w.w("CHECK ")
		w.when(c.NotForReplication, "NOT FOR REPLICATION ")
		w.w("(")
		w.cond(c.Cond)
		w.w(")")
	case *DefaultConstraint:
		w.w("DEFAULT ")
		w.expr(c.Value)
		w.named(" FOR ", c.Column)
		w.when(c.WithValues, " WITH VALUES")
	}
}

// clustering writes CLUSTERED or NONCLUSTERED.
func (w *printer) clustering(before string, c Clustering, behind string) {
	w.when(c == Clustered, before, "CLUSTERED", behind)
	w.when(c == NonClustered, before, "NONCLUSTERED", behind)
}

// indexColumns writes columns in parentheses with a blank before them.
func (w *printer) indexColumns(list []*IndexColumn) {
	if len(list) > 0 {
		w.w(" (")
		nodes(w, list)
		w.w(")")
	}
}

// indexColumn writes a column of a key or index.
func (w *printer) indexColumn(c *IndexColumn) {
	w.ident(c.Name)
	w.when(c.Desc, " DESC")
}

// createIndex writes CREATE INDEX.
func (w *printer) createIndex(s *CreateIndexStmt) {
	w.w("CREATE ")
	w.when(s.Def.Unique, "UNIQUE ")
	w.clustering("", s.Def.Clustering, " ")
	w.when(s.Def.Columnstore, "COLUMNSTORE ")
	w.w("INDEX ")
	w.ident(s.Def.Name)
	w.w(" ON ")
	w.name(s.Table)
	w.indexTail(s.Def)
}

// inlineIndex writes an index inside a table definition.
func (w *printer) inlineIndex(d *IndexDef) {
	w.w("INDEX ")
	w.ident(d.Name)
	w.when(d.Unique, " UNIQUE")
	w.clustering(" ", d.Clustering, "")
	w.when(d.Columnstore, " COLUMNSTORE")
	w.indexTail(d)
}

// indexTail writes an index's columns and what follows.
func (w *printer) indexTail(d *IndexDef) {
	w.indexColumns(d.Columns)
	if len(d.Include) > 0 {
		w.w(" INCLUDE")
		w.idents(d.Include)
	}
	w.where(d.Where, nil)
	w.withOptions(d.Options)
	w.named(" ON ", d.On)
}

// dropIndexItem writes an index to drop.
func (w *printer) dropIndexItem(d *DropIndexItem) {
	w.ident(d.Index)
	w.w(" ON ")
	w.name(d.Table)
	w.withOptions(d.Options)
}

// mode writes WITH CHECK or WITH NOCHECK.
func (w *printer) mode(m CheckMode) {
	w.when(m == WithCheck, "WITH CHECK ")
	w.when(m == WithNoCheck, "WITH NOCHECK ")
}

// allOr writes names, or ALL if there are none.
func (w *printer) allOr(ids []Ident) {
	w.when(len(ids) == 0, "ALL")
	list(w, ids, w.ident)
}

// alterAction writes what ALTER TABLE does.
func (w *printer) alterAction(a AlterTableAction) {
	switch a := a.(type) {
	case *AlterAdd:
		w.mode(a.Mode)
		w.w("ADD ")
		w.elements(a.Def)
	case *AlterDrop:
		w.w("DROP ")
		nodes(w, a.Items)
	case *AlterColumn:
		w.w("ALTER COLUMN ")
		w.column(a.Column)
		w.when(a.Add != "", " ADD ", a.Add)
		w.when(a.Drop != "", " DROP ", a.Drop)
	case *AlterCheck:
		w.mode(a.Mode)
		w.w(map[bool]string{true: "CHECK CONSTRAINT ", false: "NOCHECK CONSTRAINT "}[a.Enable])
		w.allOr(a.Names)
	case *AlterTrigger:
		w.w(map[bool]string{true: "ENABLE TRIGGER ", false: "DISABLE TRIGGER "}[a.Enable])
		w.allOr(a.Names)
	case *AlterSet:
		w.w("SET (")
		nodes(w, a.Options)
		w.w(")")
	case *AlterRebuild:
		w.w("REBUILD")
		w.optional(" PARTITION = ", a.Partition)
		w.withOptions(a.Options)
	case *AlterSwitch:
		w.w("SWITCH")
		w.optional(" PARTITION ", a.Partition)
		w.w(" TO ")
		w.name(a.To)
		w.optional(" PARTITION ", a.ToPartition)
	}
}

// dropItem writes a column or constraint to drop.
func (w *printer) dropItem(i *AlterDropItem) {
	w.w(map[bool]string{true: "COLUMN ", false: "CONSTRAINT "}[i.Column])
	w.when(i.IfExists, "IF EXISTS ")
	w.ident(i.Name)
}

// sequence writes CREATE and ALTER SEQUENCE.
func (w *printer) sequence(s *SequenceStmt) {
	w.verb(s.Verb)
	w.w("SEQUENCE ")
	w.name(s.Name)
	if s.Type != nil {
		w.w(" AS ")
		w.typeRef(s.Type)
	}
	switch {
	case s.Restart:
		w.w(" RESTART")
		w.when(s.StartWith != "", " WITH ", s.StartWith)
	case s.StartWith != "":
		w.w(" START WITH ", s.StartWith)
	}
	w.when(s.Step != "", " INCREMENT BY ", s.Step)
	w.when(s.Min != "", " MINVALUE ", s.Min)
	w.when(s.NoMin, " NO MINVALUE")
	w.when(s.Max != "", " MAXVALUE ", s.Max)
	w.when(s.NoMax, " NO MAXVALUE")
	w.when(s.Cycle, " CYCLE")
	w.when(s.NoCycle, " NO CYCLE")
	w.when(s.HasCache, " CACHE")
	w.when(s.Cache != "", " ", s.Cache)
	w.when(s.NoCache, " NO CACHE")
}

// moduleOptions writes WITH options with a blank before it.
func (w *printer) moduleOptions(o ModuleOptions) {
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
		w.w(" WITH ")
		list(w, opts, func(s string) { w.w(s) })
	}
}

// param writes a parameter.
func (w *printer) param(a *Param) {
	w.w(a.Name, " ")
	w.typeRef(a.Type)
	w.when(a.Varying, " VARYING")
	w.null(a.Null)
	w.optional(" = ", a.Default)
	w.when(a.Output, " OUTPUT")
	w.when(a.ReadOnly, " READONLY")
}

// procedure writes a procedure.
func (w *printer) procedure(s *CreateProcedureStmt) {
	w.verb(s.Verb)
	w.w("PROCEDURE ")
	w.name(s.Name)
	w.when(s.Number != 0, ";", strconv.Itoa(s.Number))
	w.when(len(s.Params) > 0, " ")
	nodes(w, s.Params)
	w.moduleOptions(s.Options)
	w.when(s.ForReplication, " FOR REPLICATION")
	w.w(" AS")
	w.stmts(s.Body)
}

// function writes a function.
func (w *printer) function(s *CreateFunctionStmt) {
	w.verb(s.Verb)
	w.w("FUNCTION ")
	w.name(s.Name)
	w.w("(")
	nodes(w, s.Params)
	w.w(") RETURNS ")
	switch {
	case s.Query != nil:
		w.w("TABLE")
	case s.TableVar != "":
		w.w(s.TableVar, " TABLE ")
		w.tableDef(s.Table)
	default:
		w.typeRef(s.Returns)
	}
	w.moduleOptions(s.Options)
	w.w(" AS")
	if s.Query != nil {
		w.w(" RETURN ")
		w.query(s.Query)
		return
	}
	w.line()
	w.w("BEGIN")
	w.stmts(s.Body)
	w.line()
	w.w("END")
}

// createTrigger writes a trigger.
func (w *printer) createTrigger(s *CreateTriggerStmt) {
	w.verb(s.Verb)
	w.w("TRIGGER ")
	w.name(s.Name)
	w.triggerPlace(s.Table, s.OnDatabase, s.OnServer)
	w.moduleOptions(s.Options)
	w.w(map[bool]string{true: " INSTEAD OF ", false: " AFTER "}[s.InsteadOf])
	list(w, s.Events, func(e string) { w.w(e) })
	w.when(s.NotForReplication, " NOT FOR REPLICATION")
	w.w(" AS")
	w.stmts(s.Body)
}

// triggerPlace writes ON and where a trigger is.
func (w *printer) triggerPlace(table *ObjectName, database, server bool) {
	w.w(" ON ")
	w.when(database, "DATABASE")
	w.when(server, "ALL SERVER")
	w.name(table)
}
