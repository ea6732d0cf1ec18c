// Package haul copies, syncs and writes files as fast as the kernel allows and
// as safely as the caller asks.
package haul
