// Package sqlfs holds the control database as source: one object a file, embedded into the program.
//
// Vocabulary. State (schemas and tables, folder schema) moves forward by migrations. Code (views,
// procedures and roles) is replaced as a whole when its text has changed. install.txt lists all files in
// the order of a fresh install. Each file is one batch without GO. See DESIGN.md for the tables, the
// lifecycles and the order of locks.
//
// What a newcomer gets wrong: the comment block at the head of a file is its reference documentation, in
// a fixed form that [Describe] reads and tests check; it is not free text.
package sqlfs
