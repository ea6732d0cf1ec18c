//go:build !portable

package meta_test

import "unsafe"

func ptr(list []uint32) unsafe.Pointer { return unsafe.Pointer(&list[0]) }
