// Package manifest reads and writes the definitions of jobs as files: YAML or JSON documents that
// people keep in a repository. It decodes them strictly, checks them without a database, brings
// them into one canonical form, compares them, and publishes their JSON Schema. It is pure: files
// come from an [io/fs.FS].
package manifest
