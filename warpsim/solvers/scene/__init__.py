"""A scene on the host and on the device: builder, model, state, control, shapes, and how sheets and bodies are made."""
