from tt.nn.modules cimport attribute_slot
