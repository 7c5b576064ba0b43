// Package dml reads the statements that change data.
package dml
