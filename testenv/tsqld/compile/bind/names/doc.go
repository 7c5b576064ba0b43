// Package names resolves names: of objects against the catalog, of columns against the sources of a
// query, of types, variables and collations. It also notes what a statement needs to run:
// databases, permissions, temporary tables, locks.
//
//	dbo.item ── [Resolver.Object] ── catalog.Table      b.Needs: the database, SELECT on the table
//	i.price  ── [Level.Find] ─────── tree.Node (a column of a source of the Level or an outer one)
//
// Names inside views and functions are resolved in the [Place] of their database and schema.
package names
