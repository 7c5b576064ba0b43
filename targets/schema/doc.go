// Package schema reads the schemas of databases from their catalog views, object by object, for
// jobs/drift. The decisions are in ../../jobs/drift/DESIGN.md.
package schema
