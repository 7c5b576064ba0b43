// Package suggest finds the valid spelling nearest to an invalid one, for "did you mean" (D-E5).
package suggest
