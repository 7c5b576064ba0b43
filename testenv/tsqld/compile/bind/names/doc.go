// Package names resolves names: of objects against the catalog, of columns against the sources of a
// query, of types, variables and collations. It also notes what a statement needs to run:
// databases, permissions, temporary tables, locks.
//
//	SELECT i.price FROM dbo.item i: [Resolver.Object] ── the table. Needs: its database, SELECT on it
//	                                [Level.Find] ── the column, in this Level or an outer one
//	UPDATE item SET price = @p:     the same, and UPDATE on the table; [Resolver.Variable] ── @p
//
// Names inside views and functions are resolved in the [Place] of their database and schema.
package names
