//! Values that are made or set once.

use super::Mutation;

const ONCE_CELL: &str = "src/sync/once_cell.rs";
const SET_ONCE: &str = "src/sync/set_once.rs";
const MAKING: &str = "sync::once_cell::loom";
const SETTING: &str = "sync::set_once::loom";

pub const ROWS: &[Mutation] = &[
    Mutation {
        file: ONCE_CELL,
        models: MAKING,
        from: "let value: &T = unsafe { (*self.value.get()).insert(value) };\n        self.making.close();",
        to: "self.making.close();\n        let value: &T = unsafe { (*self.value.get()).insert(value) };",
        breaks: "the cell says that it has its value before it has",
    },
    Mutation {
        file: ONCE_CELL,
        models: MAKING,
        from: "self.making.close();\n        permit.forget();",
        to: "drop(permit);\n        self.making.close();",
        breaks: "a second task makes the value again",
    },
    Mutation {
        file: ONCE_CELL,
        models: MAKING,
        from: "let value = f().await?;\n                Ok(self.fill(value, permit))",
        to: "let permit = std::mem::ManuallyDrop::new(permit);\n                let value = f().await?;\n                Ok(self.fill(value, std::mem::ManuallyDrop::into_inner(permit)))",
        breaks: "a task that fails to make the value, or is dropped meanwhile, keeps its turn",
    },
    Mutation {
        file: ONCE_CELL,
        models: MAKING,
        from: "if !self.initialized() {",
        to: "if false {",
        breaks: "a value is read while it is made",
    },
    Mutation {
        file: SET_ONCE,
        models: SETTING,
        from: "let set = self.set.notified_inside();\n                if let Some(value) = self.get() {\n                    return value;\n                }",
        to: "if let Some(value) = self.get() {\n                    return value;\n                }\n                let set = self.set.notified_inside();",
        breaks: "a future looks for the value before it can be told",
    },
    Mutation {
        file: SET_ONCE,
        models: SETTING,
        from: "self.set.notify_waiters();",
        to: "self.set.notify_one();",
        breaks: "one of two futures is told of the value",
    },
];
