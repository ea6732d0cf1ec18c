//go:build linux && !(386 || arm || mips || mipsle || ppc)

package sys

func secField(s int64) int64  { return s }
func nsecField(n int32) int64 { return int64(n) }
